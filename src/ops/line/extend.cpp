#include "ops/line/extend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "ops/dispatch.hpp"
#include "ops/element/kernel.hpp"
#include "ops/tuning.hpp"

namespace penstock::line {
namespace {

/// One row on the CPU: what lies together in the input is copied together.
template <class W>
void extend_row(const ExtendJob<W>& job, std::uint64_t row) {
  const std::uint64_t width = job.width();
  W* const to = job.out + row * width;
  const W* const from = job.source(row);
  if (from == nullptr) {
    std::fill_n(to, width, job.constant);
    return;
  }
  const std::int32_t* const columns = job.table + job.begins[job.dimensions - 1];
  for (std::uint64_t x = 0; x < width;) {
    const std::int32_t at = columns[x];
    std::uint64_t run = 1;
    if (at < 0) {
      to[x] = job.constant;
    } else {
      while (x + run < width && columns[x + run] == at + static_cast<std::int32_t>(run)) ++run;
      std::memcpy(to + x, from + at, run * sizeof(W));
    }
    x += run;
  }
}

class ExtendOperator final : public Operator {
 public:
  ExtendOperator(const ArrayInfo& input, const ArrayInfo& output, std::vector<Extension> each, double constant)
      : Operator(input, output), each_(std::move(each)), constant_(constant) {}

  [[nodiscard]] Region needs(const Region& box) const override {
    Region region = box;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const std::int64_t first = first_of(box, d);
      region[d] =
          border_range(first, first + static_cast<std::int64_t>(box[d].count) - 1, input().shape[d], each_[d].border);
    }
    return region;
  }
  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    switch (input().dtype.size_bytes) {
      case 1: return run_as<std::uint8_t>(in, out, work);
      case 2: return run_as<std::uint16_t>(in, out, work);
      case 4: return run_as<std::uint32_t>(in, out, work);
      default: return run_as<std::uint64_t>(in, out, work);
    }
  }
  [[nodiscard]] std::string text() const override {
    return fmt::format("extend {} to {}", to_string(input().shape), to_string(output().shape));
  }

 private:
  /// Where the first element of a box stands among those of the input.
  [[nodiscard]] std::int64_t first_of(const Region& box, std::size_t d) const {
    return static_cast<std::int64_t>(box[d].start) - static_cast<std::int64_t>(each_[d].before);
  }

  template <class W>
  Status run_as(const Tile& in, const Tile& out, const Workspace& work) const {
    ExtendJob<W> job;
    job.in = static_cast<const W*>(in.view.data);
    job.out = static_cast<W*>(out.view.data);
    job.dimensions = static_cast<std::uint32_t>(out.box.size());
    std::vector<std::int32_t> tables;
    for (std::size_t d = 0; d < out.box.size(); ++d) {
      job.begins[d] = tables.size();
      job.in_extent[d] = in.box[d].count;
      job.out_extent[d] = out.box[d].count;
      PENSTOCK_ASSIGN(const auto table, border_table(first_of(out.box, d), out.box[d].count, input().shape[d],
                                                     in.box[d].start, each_[d].border));
      tables.insert(tables.end(), table.begin(), table.end());
    }
    with_type(input().dtype, [&]<class T>(TypeTag<T>) {
      const T value = compared_constant<T>(constant_);
      std::memcpy(&job.constant, &value, std::min(sizeof value, sizeof job.constant));
    });
    job.table = tables.data();
    if (work.on_device()) {
      PENSTOCK_ASSIGN(const Buffer there, work.upload(tables.data(), tables.size() * sizeof(std::int32_t)));
      job.table = reinterpret_cast<const std::int32_t*>(there.data());
      return extend_on_cuda(job, work.stream);
    }
    const std::uint64_t rows = job.rows(), together = std::max<std::uint64_t>(tuning::kTaskElements / job.width(), 1);
    return work.job->for_each(div_up(rows, together), true, [&](std::uint64_t task) -> Status {
      for (std::uint64_t row = task * together; row < std::min((task + 1) * together, rows); ++row)
        extend_row(job, row);
      return {};
    });
  }

  std::vector<Extension> each_;
  double constant_;
};

}  // namespace

std::unique_ptr<Operator> make_extend(const ArrayInfo& input, std::vector<Extension> each, double constant) {
  ArrayInfo output = input;
  for (std::size_t d = 0; d < each.size(); ++d) output.shape[d] += each[d].before + each[d].after;
  return std::make_unique<ExtendOperator>(input, output, std::move(each), constant);
}

}  // namespace penstock::line
