#include "oct/illumination/basic_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "oct/tiles/columns.hpp"
#include "oct/tiles/kernel.hpp"
#include "oct/tiles/percentiles.hpp"

namespace penstock::oct {
namespace {

constexpr float kLeast = 0.05F;  // a field below this part of its mean would blow up noise
constexpr std::uint32_t kPercentileLooks = 2;
constexpr std::uint64_t kNone = ~std::uint64_t{0};

/// First how bright the brightest are and which tiles are there, then the planes, as many at a time as there is memory.
class BasicField final : public FieldMaker {
 public:
  explicit BasicField(const BasicFieldOptions& how) : how_(how) {}

  Status begin(const Tiles& in, std::uint64_t allowance_bytes) override {
    tiles_ = in;
    rows_ = std::min(in.grid.tile_rows, how_.working_size);
    cols_ = std::min(in.grid.tile_cols, how_.working_size);
    holds_.assign(in.grid.count(), 0);
    percentile_.begin(1, {how_.percentile_max}, false);
    allowance_ = allowance_bytes;
    return choose_batch(in.grid.count());
  }
  [[nodiscard]] std::uint64_t scratch_bytes() const override { return saturating_mul(4, tiles_.tile_bytes()); }
  [[nodiscard]] std::uint32_t least_looks() const override {
    return kPercentileLooks + static_cast<std::uint32_t>(div_up(planes(), batch_));
  }
  bool looks() override { return fields_.values.size() < planes() * tile_pixels(); }

  Status look(std::uint64_t tile, const Tensor& elements, const Tools& tools) override {
    if (percentile_.looks()) return look_at_brightness(tile, elements, tools);
    if (slot_[tile] == kNone) return {};
    PENSTOCK_TRY(reserve(tools));
    const std::vector<OpCall> calls = {
        {"clip", fmt::format(R"({{"max":{}}})", limit_)},
        {"resize", fmt::format(R"({{"output_shape":[{},{},{}]}})", tiles_.depth, rows_, cols_)}};
    PENSTOCK_ASSIGN(const Tensor clean,
                    Tensor::empty(DType::float32(), elements.view().shape, tools.work.stream, tools.options.memory));
    PENSTOCK_TRY(copy_elements(elements.view(), clean.view()));
    PENSTOCK_TRY(
        run_work(tiles::OnlyFinite{static_cast<float*>(clean.view().data)}, tiles_.depth * tile_pixels(), tools.work));
    PENSTOCK_ASSIGN(const Tensor small, apply_operators(calls, clean.view(), tools.options));
    return how_.each_plane ? put_planes(tile, small, tools) : put_samples(tile, small, tools);
  }
  Status looked(const Tools& tools) override {
    if (percentile_.looks()) {
      PENSTOCK_TRY(percentile_.end_look(tools));
      return percentile_.looks() ? Status() : begin_images();
    }
    PENSTOCK_TRY(reserve(tools));
    const auto start = std::chrono::steady_clock::now();
    PENSTOCK_ASSIGN(const BasicFit fit, fit_basic(images_.view(), how_.solver, tools.work));
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    images_ = {};
    unfinished_ += fit.unfinished, dark_ += fit.dark;
    for (const std::uint32_t n : fit.iterations) iterations_ += n;
    PENSTOCK_TRY(add_fields(fit, tools));
    first_plane_ += batch_;
    return {};
  }
  [[nodiscard]] const Fields& fields() const override { return fields_; }
  [[nodiscard]] std::uint64_t tiles_used() const override { return used_; }
  void tell(Metrics& metrics) const override {
    metrics.add("tiles", used_, "tiles", "tiles that the flat fields were made of");
    metrics.add("images", images_each_, "images", "images that a flat field was fitted to");
    metrics.add("iterations", iterations_, "", "iterations of all fields");
    metrics.note("solve_seconds", seconds_, "that the fields took, once tiles were read");
    metrics.note("brightest", limit_, "intensity that what is brighter counts as");
    if (unfinished_ > 0)
      metrics.warn(fmt::format("the flat fields of {} planes were still changing after max_iterations", unfinished_));
    if (dark_ > 0) metrics.warn(fmt::format("{} planes hold nothing; their flat field is 1", dark_));
  }

 private:
  [[nodiscard]] std::uint64_t planes() const { return how_.each_plane ? tiles_.depth : 1; }
  [[nodiscard]] std::uint64_t tile_pixels() const { return tiles_.grid.tile_rows * tiles_.grid.tile_cols; }
  /// The step between two samples, of all planes of so many tiles one after another.
  [[nodiscard]] std::uint64_t sample_step(std::uint64_t tiles) const {
    return std::max<std::uint64_t>(div_up(tiles * tiles_.depth, how_.max_samples), 1);
  }

  /// How many planes are solved at once, of so many tiles.
  Status choose_batch(std::uint64_t tiles) {
    images_each_ = how_.each_plane ? tiles : div_up(tiles * tiles_.depth, sample_step(tiles));
    const std::uint64_t pixels = rows_ * cols_;
    const std::uint64_t bytes =
        saturating_add(basic_bytes(1, images_each_, pixels), saturating_mul(4 * images_each_, pixels));
    if (bytes > allowance_)
      return Error(ErrorCode::budget_too_small,
                   fmt::format("BaSiC holds {} images of {} x {}, {} bytes, and a quarter of the budget is {}",
                               images_each_, rows_, cols_, bytes, allowance_))
          .set_hint(fmt::format("Allow at least {} bytes.", saturating_mul(4, bytes)));
    batch_ = std::clamp<std::uint64_t>(allowance_ / std::max<std::uint64_t>(bytes, 1), 1, planes());
    return {};
  }

  Status look_at_brightness(std::uint64_t tile, const Tensor& elements, const Tools& tools) {
    PENSTOCK_ASSIGN(const ColumnStatistics columns, column_statistics(elements, tools));
    if (columns.empty()) return {};  // a tile that is not there is not dark
    holds_[tile] = 1;
    return percentile_.add(static_cast<const float*>(elements.view().data), tiles_.depth, tile_pixels(), nullptr,
                           tools);
  }
  Status begin_images() {
    slot_.assign(holds_.size(), kNone);
    for (std::size_t t = 0; t < holds_.size(); ++t)
      if (holds_[t] != 0) slot_[t] = used_++;
    if (used_ == 0) return Error(ErrorCode::invalid_argument, "every tile is empty");
    limit_ = percentile_.result(0)->front();
    fields_.planes = planes();
    return choose_batch(used_);
  }
  /// Memory of the planes that are looked at now.
  Status reserve(const Tools& tools) {
    const std::scoped_lock lock(mutex_);
    if (images_.view().data != nullptr) return {};
    const std::uint64_t count = std::min(batch_, planes() - first_plane_);
    PENSTOCK_ASSIGN(images_, Tensor::empty(DType::float32(), {count, images_each_, rows_, cols_}, tools.work.stream,
                                           tools.options.memory));
    return tools.work.stream.synchronize();  // others write it in the order of other streams
  }
  static Slice from_to(std::uint64_t first, std::uint64_t count) {
    return {static_cast<std::int64_t>(first), static_cast<std::int64_t>(first + count), {}};
  }
  Status put(const Tensor& small, std::uint64_t plane, std::uint64_t count, std::uint64_t to_plane, std::uint64_t image,
             const Tools& tools) {
    PENSTOCK_ASSIGN(const TensorView from, small.view().slice({from_to(plane, count)}));
    PENSTOCK_ASSIGN(TensorView to, images_.view().slice({from_to(to_plane, count), static_cast<std::int64_t>(image)}));
    to.stream = tools.work.stream;
    return copy_elements(from, to);
  }
  Status put_planes(std::uint64_t tile, const Tensor& small, const Tools& tools) {
    const std::uint64_t count = std::min(batch_, planes() - first_plane_);
    return put(small, first_plane_, count, 0, slot_[tile], tools);
  }
  /// Every so many planes of all tiles.
  Status put_samples(std::uint64_t tile, const Tensor& small, const Tools& tools) {
    const std::uint64_t step = sample_step(used_), begin = slot_[tile] * tiles_.depth;
    for (std::uint64_t i = div_up(begin, step) * step; i < begin + tiles_.depth; i += step)
      PENSTOCK_TRY(put(small, i - begin, 1, 0, i / step, tools));
    return {};
  }

  /// At the size of a tile, mean 1.
  Status add_fields(const BasicFit& fit, const Tools& tools) {
    const std::uint64_t count = fit.fields.size() / (rows_ * cols_), pixels = tile_pixels();
    const OpCall resize{
        "resize", fmt::format(R"({{"output_shape":[{},{},{}]}})", count, tiles_.grid.tile_rows, tiles_.grid.tile_cols)};
    PENSTOCK_ASSIGN(const TensorView view,
                    TensorView::packed(const_cast<float*>(fit.fields.data()), DType::float32(), {count, rows_, cols_}));
    PENSTOCK_ASSIGN(const Tensor made, apply_operators(std::span(&resize, 1), view, on_host(tools.options)));
    const auto* const values = static_cast<const float*>(made.view().data);
    for (std::uint64_t p = 0; p < count; ++p) {
      const float* const f = values + p * pixels;
      double sum = 0;
      for (std::uint64_t i = 0; i < pixels; ++i) sum += static_cast<double>(f[i]);
      const auto by = static_cast<float>(static_cast<double>(pixels) / sum);
      for (std::uint64_t i = 0; i < pixels; ++i) fields_.values.push_back(std::max(f[i] * by, kLeast));
    }
    return {};
  }

  BasicFieldOptions how_;
  Tiles tiles_;
  std::uint64_t allowance_ = 0, rows_ = 0, cols_ = 0;
  TilePercentiles percentile_;
  double limit_ = 0;
  std::vector<std::uint8_t> holds_;  // tiles that are there
  std::vector<std::uint64_t> slot_;  // of each tile among them
  std::uint64_t used_ = 0, images_each_ = 0;
  std::uint64_t batch_ = 1, first_plane_ = 0;  // planes that are solved at once
  std::mutex mutex_;
  Tensor images_;  // (batch, images, rows, columns)
  Fields fields_;
  std::uint64_t unfinished_ = 0, dark_ = 0, iterations_ = 0;
  double seconds_ = 0;
};

}  // namespace

Result<std::unique_ptr<FieldMaker>> make_basic_field(const BasicFieldOptions& how) {
  if (!(how.percentile_max > 0) || how.percentile_max > 100)
    return Error(ErrorCode::invalid_argument, "percentile_max lies between 0 and 100");
  if (how.working_size < 4 || how.working_size > 4096 || how.max_samples == 0 || how.solver.max_iterations == 0 ||
      !(how.solver.smoothness >= 0))
    return Error(
        ErrorCode::invalid_argument,
        "working_size lies between 4 and 4096, max_samples and max_iterations above 0, and basic_smoothness is "
        "not negative");
  return std::unique_ptr<FieldMaker>(std::make_unique<BasicField>(how));
}

}  // namespace penstock::oct
