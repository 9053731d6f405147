#include <fmt/format.h>

#include <algorithm>

#include "ops/each.hpp"
#include "ops/window/keys.hpp"
#include "ops/window/window.hpp"

namespace penstock::window {
namespace {

class RankOperator final : public Operator {
 public:
  RankOperator(const ArrayInfo& input, const ArrayInfo& output, Footprint footprint, std::uint32_t rank)
      : Operator(input, output), footprint_(std::move(footprint)), rank_(rank) {}

  [[nodiscard]] Region needs(const Region& box) const override {
    Region region = box;
    for (std::size_t d = 0; d < box.size(); ++d) region[d].count += footprint_.shape[d] - 1;
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
    return fmt::format("rank {} of {} elements in a box of {}", rank_, std::ranges::count(footprint_.mask, true),
                       to_string(footprint_.shape));
  }

 private:
  template <class K>
  Status run_as(const Tile& in, const Tile& out, const Workspace& work) const {
    RankJob<K> job;
    job.in = static_cast<const K*>(in.view.data);
    job.out = static_cast<K*>(out.view.data);
    const Shape inner = shape_of(in.box);
    const std::vector<std::int64_t> offsets = offsets_in(inner);
    job.set_offsets(offsets);
    job.rank = rank_;
    job.in_threes = job.count % 3 == 0;
    for (std::size_t k = 0; job.in_threes && k < offsets.size(); k += 3)
      job.in_threes = offsets[k + 1] == offsets[k] + 1 && offsets[k + 2] == offsets[k] + 2;
    std::uint64_t stride = 1;
    const std::size_t n = inner.size();
    job.width = n == 0 ? 1 : out.box[n - 1].count;
    job.dimensions = n == 0 ? 0 : static_cast<std::uint32_t>(n - 1);
    for (std::size_t d = n; d-- > 0; stride *= inner[d]) {
      if (d == n - 1) continue;
      job.extent[d] = out.box[d].count;
      job.stride[d] = stride;
      job.rows *= out.box[d].count;
    }
    if (!work.on_device()) return run_on_cpu(job, *work.job, best_isa());
    if (job.count <= RankJob<K>::kFew) return run_on_cuda(job, work.stream);
    PENSTOCK_ASSIGN(const Buffer there, work.upload(offsets.data(), offsets.size() * sizeof(std::int64_t)));
    job.offsets = reinterpret_cast<const std::int64_t*>(there.data());
    return run_on_cuda(job, work.stream);
  }

  /// Distances in memory of the elements under the footprint.
  [[nodiscard]] std::vector<std::int64_t> offsets_in(const Shape& shape) const {
    std::vector<std::int64_t> offsets;
    for (std::uint64_t i = 0; i < footprint_.mask.size(); ++i) {
      if (!footprint_.mask[i]) continue;
      std::uint64_t rest = i, at = 0, stride = 1;
      for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
        at += rest % footprint_.shape[d] * stride;
        rest /= footprint_.shape[d];
      }
      offsets.push_back(static_cast<std::int64_t>(at));
    }
    return offsets;
  }

  Footprint footprint_;
  std::uint32_t rank_;
};

class KeysOperator final : public Operator {
 public:
  KeysOperator(const ArrayInfo& input, const ArrayInfo& output, bool back) : Operator(input, output), back_(back) {}
  [[nodiscard]] Region needs(const Region& box) const override { return box; }
  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    PENSTOCK_ASSIGN(const std::uint64_t count, out.view.elements());
    const DType& dtype = back_ ? output().dtype : input().dtype;
    if (work.on_device()) return keys_on_cuda(dtype, in.view.data, out.view.data, count, back_, work.stream);
    Status status;
    with_keys(dtype, in.view.data, out.view.data, back_,
              [&](const auto& pass) { status = run_each(*work.job, count, pass); });
    return status;
  }
  [[nodiscard]] std::string text() const override {
    return fmt::format("{} as {}, in order", input().dtype.name(), output().dtype.name());
  }

 private:
  bool back_;
};

}  // namespace

std::unique_ptr<Operator> make_rank(const ArrayInfo& input, const Footprint& footprint, std::uint32_t rank) {
  ArrayInfo output = input;
  for (std::size_t d = 0; d < output.shape.size(); ++d) output.shape[d] -= footprint.shape[d] - 1;
  return std::make_unique<RankOperator>(input, output, footprint, rank);
}

std::unique_ptr<Operator> make_keys(const ArrayInfo& input) {
  const DType keys = DType::integer(input.dtype.size_bytes, Kind::unsigned_int);
  return std::make_unique<KeysOperator>(input, ArrayInfo{keys, input.shape}, false);
}

std::unique_ptr<Operator> make_elements(const ArrayInfo& input, const DType& dtype) {
  return std::make_unique<KeysOperator>(input, ArrayInfo{dtype, input.shape}, true);
}

}  // namespace penstock::window
