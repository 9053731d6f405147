// transpose: stores the axes of a chunk in another order.
//
// Specification  https://zarr-specs.readthedocs.io/en/latest/v3/codecs/transpose/index.html
// Names          v3 "transpose"; v2: none, "order": "F" means the same
// Example        {"name": "transpose", "configuration": {"order": [2, 0, 1]}}
// Limits         "order" names every axis once: stored axis i is axis order[i] of the chunk
// Deviations     "order" may be "C" or "F" as in drafts of the specification; it is written back as a list
#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "codec/strided.hpp"
#include "codec/support.hpp"
#include "codec/transpose/transpose.hpp"
#include "core/json.hpp"
#include "core/json_text.hpp"

namespace penstock {
namespace {

class TransposeCodec final : public ArrayToArray {
 public:
  TransposeCodec(const ChunkSpec& chunk, std::vector<std::uint32_t> order, Strides decoded_strides,
                 Strides encoded_strides)
      : shape_(chunk.shape),
        encoded_(chunk),
        order_(std::move(order)),
        decoded_strides_(std::move(decoded_strides)),
        encoded_strides_(std::move(encoded_strides)) {
    for (std::size_t i = 0; i < order_.size(); ++i) encoded_.shape[i] = shape_[order_[i]];
  }
  [[nodiscard]] CodecSpec spec() const override {
    return {"transpose", fmt::format("{{\"order\":[{}]}}", fmt::join(order_, ","))};
  }
  [[nodiscard]] const ChunkSpec& encoded() const override { return encoded_; }
  [[nodiscard]] std::span<const std::uint32_t> permutation() const override { return order_; }
  [[nodiscard]] Status encode(ByteView in, ByteSpan out) const override {
    copy_strided(out.data(), encoded_strides_, in.data(), decoded_strides_, shape_, encoded_.dtype.size_bytes);
    return {};
  }
  [[nodiscard]] Status decode(ByteView in, ByteSpan out) const override {
    if (in.size() != out.size()) return corrupt(fmt::format("{} bytes expected, {} found", out.size(), in.size()));
    copy_strided(out.data(), decoded_strides_, in.data(), encoded_strides_, shape_, encoded_.dtype.size_bytes);
    return {};
  }

 private:
  Shape shape_;  // decoded
  ChunkSpec encoded_;
  std::vector<std::uint32_t> order_;
  Strides decoded_strides_;
  Strides encoded_strides_;  // per decoded axis
};

Result<std::vector<std::uint32_t>> parse_order(const Json& order, std::size_t rank) {
  std::vector<std::uint32_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0U);
  if (is_text(order, "C")) return axes;
  if (is_text(order, "F")) return std::vector<std::uint32_t>(axes.rbegin(), axes.rend());
  const auto wrong = [&] {
    return bad_configuration(
        fmt::format("\"order\" must hold each of the {} axes once, is {}", rank, dump_json(order).substr(0, 80)));
  };
  if (!order.is_array() || order.size() != rank) return wrong();
  std::vector<bool> seen(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = to_u64(order[i], "an axis");
    if (!axis || *axis >= rank || seen[*axis]) return wrong();
    seen[*axis] = true;
    axes[i] = static_cast<std::uint32_t>(*axis);
  }
  return axes;
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"order"}));
  PENSTOCK_ASSIGN(const Json* order, member(configuration, "order"));
  PENSTOCK_ASSIGN(std::vector<std::uint32_t> axes, parse_order(*order, chunk.shape.size()));
  Shape encoded(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) encoded[i] = chunk.shape[axes[i]];
  PENSTOCK_ASSIGN(Strides decoded_strides, c_strides(chunk.shape, chunk.dtype.size_bytes));
  PENSTOCK_ASSIGN(const Strides strides, c_strides(encoded, chunk.dtype.size_bytes));
  Strides encoded_strides(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) encoded_strides[axes[i]] = strides[i];
  return AnyCodec(
      std::make_unique<TransposeCodec>(chunk, std::move(axes), std::move(decoded_strides), std::move(encoded_strides)));
}

}  // namespace

const CodecEntry kTransposeCodec = {"transpose", {}, "", make, nullptr, nullptr};

}  // namespace penstock
