#include "ops/line/box.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "ops/line/types.hpp"
#include "ops/tuning.hpp"

#define PENSTOCK_ISA baseline
#include "ops/line/box_loops.hpp"
#ifdef PENSTOCK_HAVE_ISAS
PENSTOCK_BEGIN_AVX2
#define PENSTOCK_ISA avx2
#include "ops/line/box_loops.hpp"
PENSTOCK_END_ISA
PENSTOCK_BEGIN_AVX512
#define PENSTOCK_ISA avx512
#include "ops/line/box_loops.hpp"
PENSTOCK_END_ISA
#endif

namespace penstock::line {
namespace {

/// Rows of the first axis that a task makes, of which the last ones of the task before are made twice.
constexpr std::size_t kBoxRows = 64;

/// The longest run of extended columns that is one in memory.
Run longest_run(const std::int32_t* table, std::size_t count) {
  Run best;
  for (std::size_t first = 0; first < count;) {
    std::size_t end = first + 1;
    while (end < count && table[first] >= 0 && table[end] == table[end - 1] + 1) ++end;
    if (table[first] >= 0 && end - first > best.count)
      best = {first, static_cast<std::size_t>(table[first]), end - first};
    first = end;
  }
  return best;
}

template <bool kLeast, class T>
void run_piece(const BoxJob<T>& job, const Run& run, const BoxPiece& piece, T* memory, Isa isa) {
#ifdef PENSTOCK_HAVE_ISAS
  if (isa == Isa::avx512) return avx512::run_box<kLeast>(job, run, piece, memory);
  if (isa == Isa::avx2) return avx2::run_box<kLeast>(job, run, piece, memory);
#endif
  static_cast<void>(isa);
  baseline::run_box<kLeast>(job, run, piece, memory);
}

/// A filter of one element where an axis has none.
struct BoxAxes {
  std::size_t first = 0;  ///< axis of the array that is the box's first one
  Filter filter[3];
};

class BoxOperator final : public Operator {
 public:
  BoxOperator(const ArrayInfo& info, BoxAxes axes, bool least, std::size_t last)
      : Operator(info, info), axes_(std::move(axes)), least_(least), last_(last) {}

  [[nodiscard]] Region needs(const Region& box) const override {
    Region region = box;
    for (std::size_t k = 0; k < 3; ++k) {
      const Filter& f = axes_.filter[k];
      if (f.taps == 1) continue;
      const std::int64_t first = static_cast<std::int64_t>(box[f.axis].start) - f.before;
      region[f.axis] = border_range(first, first + static_cast<std::int64_t>(box[f.axis].count + f.taps) - 2,
                                    input().shape[f.axis], f.border);
    }
    return region;
  }

  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    Status status;
    with_type(input().dtype, [&]<class T>(TypeTag<T>) { status = run_as<T>(in, out, work); });
    return status;
  }

  [[nodiscard]] std::string text() const override {
    std::string sizes;
    for (const Filter& f : axes_.filter)
      if (f.taps > 1) sizes += fmt::format("{}{} along axis {}", sizes.empty() ? "" : ", ", f.taps, f.axis);
    return fmt::format("{} of boxes: {} elements", least_ ? "minimum" : "maximum", sizes);
  }

 private:
  template <class T>
  Status run_as(const Tile& in, const Tile& out, const Workspace& work) const {
    BoxJob<T> job;
    job.in = static_cast<const T*>(in.view.data);
    job.out = static_cast<T*>(out.view.data);
    std::vector<std::int32_t> tables;
    std::size_t begins[3] = {};
    for (std::size_t k = 0; k < 3; ++k) {
      const Filter& f = axes_.filter[k];
      begins[k] = tables.size();
      job.taps[k] = f.taps;
      if (f.axis >= in.box.size() || (f.taps == 1 && f.axis < axes_.first)) {  // fewer axes than three
        tables.push_back(0);
        continue;
      }
      job.in_extent[k] = in.box[f.axis].count;
      job.out_extent[k] = out.box[f.axis].count;
      PENSTOCK_ASSIGN(const auto rows, border_table(static_cast<std::int64_t>(out.box[f.axis].start) - f.before,
                                                    out.box[f.axis].count + f.taps - 1, input().shape[f.axis],
                                                    in.box[f.axis].start, f.border));
      tables.insert(tables.end(), rows.begin(), rows.end());
    }
    for (std::size_t d = 0; d < axes_.first; ++d) job.outer *= out.box[d].count;
    for (std::size_t d = last_ + 1; d < out.box.size(); ++d) job.inner *= out.box[d].count;
    for (const Filter& f : axes_.filter)
      if (f.taps > 1) job.constant = compared_constant<T>(f.constant);
    const auto point_at = [&](const std::int32_t* at) {
      for (std::size_t k = 0; k < 3; ++k) job.table[k] = at + begins[k];
    };
    point_at(tables.data());
    if (!work.on_device()) return run_box_on_cpu(job, least_, *work.job, best_isa());
    PENSTOCK_ASSIGN(const Buffer there, work.upload(tables.data(), tables.size() * sizeof(std::int32_t)));
    point_at(reinterpret_cast<const std::int32_t*>(there.data()));
    return run_box_on_cuda(job, least_, work.stream);
  }

  BoxAxes axes_;
  bool least_;
  std::size_t last_;  ///< axis of the array that is the box's last one
};

}  // namespace

std::unique_ptr<Operator> make_box(const ArrayInfo& input, const std::vector<Filter>& filters) {
  if (filters.size() < 2) return nullptr;
  std::size_t first = input.shape.size(), last = 0;
  for (const Filter& f : filters) {
    const bool extreme = f.operation == Operation::minimum || f.operation == Operation::maximum;
    if (!extreme || f.operation != filters[0].operation || f.taps > kMaxBoxTaps) return nullptr;
    if (f.border == Border::constant && f.constant != filters[0].constant) return nullptr;
    first = std::min(first, f.axis), last = std::max(last, f.axis);
  }
  if (last - first > 2) return nullptr;
  BoxAxes axes;
  axes.first = first;
  // The last axis of the box is the last one that is filtered, so that rows are as long as they can be.
  for (std::size_t k = 0; k < 3; ++k) axes.filter[k].axis = last + k - 2;  // before the first axis: a large number
  for (const Filter& f : filters) axes.filter[f.axis + 2 - last] = f;
  std::uint64_t plane = 1;  // places in it are counted in 32 bits
  for (std::size_t d = last < 1 ? 0 : last - 1; d < input.shape.size(); ++d)
    plane = saturating_mul(plane, input.shape[d]);
  if (plane > INT32_MAX) return nullptr;
  return std::make_unique<BoxOperator>(input, std::move(axes), filters[0].operation == Operation::minimum, last);
}

template <class T>
Status run_box_on_cpu(const BoxJob<T>& job, bool least, Job& threads, Isa isa) {
  const std::size_t row = job.out_extent[2] * job.inner;
  if (job.outer * job.out_extent[0] * job.out_extent[1] * row == 0) return {};
  const std::size_t columns = job.out_extent[2] + job.taps[2] - 1;
  const Run run = longest_run(job.table[2], columns);
  const std::size_t rows = std::clamp<std::size_t>(tuning::kLineBytes / sizeof(T) / 3 / row, 1, job.out_extent[1]);
  const std::size_t strips = div_up(job.out_extent[1], rows), segments = div_up(job.out_extent[0], kBoxRows);
  return threads.for_each(job.outer * strips * segments, true, [&](std::uint64_t task) -> Status {
    BoxPiece piece;
    piece.y = task % strips * rows;
    piece.y_end = std::min<std::size_t>(piece.y + rows, job.out_extent[1]);
    piece.first = task / strips % segments * kBoxRows;
    piece.last = std::min<std::size_t>(piece.first + kBoxRows, job.out_extent[0]);
    piece.outer = task / strips / segments;
    Bytes& memory = threads.worker().scratch.a;
    PENSTOCK_TRY(memory.resize_discard((columns * job.inner + 3 * rows * row) * sizeof(T)));
    T* const room = reinterpret_cast<T*>(memory.data());
    if (least)
      run_piece<true>(job, run, piece, room, isa);
    else
      run_piece<false>(job, run, piece, room, isa);
    return {};
  });
}

#define PENSTOCK_INSTANTIATE(T) template Status run_box_on_cpu(const BoxJob<T>&, bool, Job&, Isa);
PENSTOCK_BOX_TYPES(PENSTOCK_INSTANTIATE)

}  // namespace penstock::line
