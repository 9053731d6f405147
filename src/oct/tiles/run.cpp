#include "oct/tiles/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>

#include "core/checked.hpp"
#include "exec/budget.hpp"
#include "oct/file/apart.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kDeviceTiles = 4;  // under way at once on a device: they overlap reading, work and writing
constexpr std::uint64_t kDeviceReadBytes = std::uint64_t{16} << 20;  // that a read into a device holds beside its tile

/// A tile between two looks.
struct Kept {
  std::size_t stage = 0;  ///< that it is given to
  std::optional<Tensor> elements;
};

/// How the budget of a run is shared: a quarter for what a step holds of its own, a quarter at most for tiles that are
/// kept between looks, the rest for tiles that are worked on.
struct Shares {
  std::uint64_t budget_bytes = 0, step_bytes = 0;

  static Result<Shares> make(const Options& options) {
    PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(options, 0));
    return Shares{plan.budget_bytes, plan.budget_bytes / 4};
  }
  /// Tiles that are kept beside one piece of work.
  [[nodiscard]] std::uint64_t kept(std::uint64_t piece_bytes, std::uint64_t tile_bytes) const {
    const std::uint64_t taken = std::min(saturating_add(step_bytes, piece_bytes), budget_bytes);
    return std::min(step_bytes, budget_bytes - taken) / std::max<std::uint64_t>(tile_bytes, 1);
  }
};

/// What a stage needs for one tile: the one that it is given, the one that it makes, what it holds between, and what
/// decoding and encoding hold of the tiles of the mosaic.
std::uint64_t piece_bytes(const Tiles& given, const Tiles& in, const Tiles& out, const TileStep& step) {
  return saturating_add(saturating_add(in.tile_bytes(), out.tile_bytes()),
                        saturating_add(step.scratch_bytes(), saturating_mul(2, given.tile_bytes())));
}

Tensor on_stream(const Tensor& tensor, const Stream& stream) {
  TensorView view = tensor.view();
  view.stream = stream;
  return Tensor::share(tensor.owner(), view);
}

class TileRun {
 public:
  TileRun(const std::string& in, const std::string& out, std::span<TileStage> stages, Device device,
          const Options& options)
      : in_(in), out_(out), stages_(stages), device_(device), options_(options) {}

  Result<TileTraffic> run(bool force) {
    PENSTOCK_TRY(check_apart(out_, in_));
    PENSTOCK_TRY(NewVolume::check(out_, force));
    PENSTOCK_ASSIGN(const Volume mosaic, open_volume(in_, 3));
    mosaic_ = &mosaic;
    PENSTOCK_ASSIGN(given_, tiles_of(mosaic, in_));
    kept_.resize(given_.grid.count());
    PENSTOCK_ASSIGN(shares_, Shares::make(options_));
    PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(options_, 0));
    threads_ = plan.threads;
    Tiles tiles = given_;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      PENSTOCK_ASSIGN_IN(const Tiles likely, stages_[s].step->begin(tiles, shares_.step_bytes), in_);
      piece_bytes_ = std::max(piece_bytes_, piece_bytes(given_, tiles, likely, *stages_[s].step));
      while (stages_[s].step->looks()) {
        PENSTOCK_TRY_IN(look(s, tiles.tile_bytes()), in_);
      }
      tiles = stages_[s].step->out();
    }
    PENSTOCK_TRY(write(tiles, mosaic.objects[1] / mosaic.chunks[1], force));
    return TileTraffic{read_bytes_, written_bytes_};
  }

 private:
  /// piece(i, tools) for i below `count`, as many at once as there is room for beside `held_bytes`.
  Status each(std::uint64_t count, std::uint64_t bytes, std::uint64_t held_bytes, std::uint64_t total_bytes,
              const std::function<Status(std::uint64_t, const Tools&)>& piece) {
    PENSTOCK_TRY(plan_budget(options_, saturating_add(bytes, held_bytes)));
    const std::uint64_t room = shares_.budget_bytes - held_bytes;
    const bool on_device = device_.type != Device::Type::cpu;
    const std::uint64_t each_bytes = on_device ? saturating_add(bytes, kDeviceReadBytes) : bytes;
    std::uint64_t at_once = std::clamp<std::uint64_t>(room / each_bytes, 1, std::min(count, threads_));
    if (on_device) at_once = std::min(at_once, kDeviceTiles);
    Options inner = options_;
    inner.progress = nullptr;
    inner.budget_bytes = room / at_once;
    inner.threads = std::max<std::uint64_t>(threads_ / at_once, 1);
    PENSTOCK_ASSIGN(const auto memory, working_memory(device_, options_));
    Job job(options_, "oct tiles", total_bytes, threads_);
    return job.run([&] {
      return job.for_each_within(count, at_once, [&](std::uint64_t i) -> Status {
        Tools tools{{&job, {}, memory}, inner};
        if (device_.type != Device::Type::cpu) {
          PENSTOCK_ASSIGN(tools.work.stream, Stream::create(device_));
        }
        PENSTOCK_TRY(piece(i, tools));
        // What is kept may be looked at in the order of another stream.
        PENSTOCK_TRY(tools.work.stream.synchronize());
        job.advance(total_bytes / count);
        return {};
      });
    });
  }

  [[nodiscard]] std::uint64_t row_of(std::uint64_t tile) const { return tile / given_.grid.cols; }
  [[nodiscard]] std::uint64_t col_of(std::uint64_t tile) const { return tile % given_.grid.cols; }

  /// A tile as stage `stage` is given it.
  Result<Tensor> made(std::uint64_t tile, std::size_t stage, const Tools& tools) {
    const Kept& kept = kept_[tile];
    Tensor elements;
    std::size_t from = 0;
    if (kept.elements) {
      elements = on_stream(*kept.elements, tools.work.stream);
      from = kept.stage;
    } else {
      const TileGrid& grid = given_.grid;
      const Region region = {{0, given_.depth, 1},
                             {row_of(tile) * grid.tile_rows, grid.tile_rows, 1},
                             {col_of(tile) * grid.tile_cols, grid.tile_cols, 1}};
      PENSTOCK_ASSIGN_IN(elements, mosaic_->array.read(region, tools.options, tools.work.stream), in_);
      read_bytes_ += given_.tile_bytes();
    }
    for (std::size_t s = from; s < stage; ++s) {
      PENSTOCK_ASSIGN(elements, stages_[s].step->make(tile, std::move(elements), tools));
    }
    return elements;
  }

  Status look(std::size_t stage, std::uint64_t tile_bytes) {
    TileStep& step = *stages_[stage].step;
    const std::uint64_t keep = shares_.kept(piece_bytes_, tile_bytes);  // the first so many tiles
    const auto look_at = [&](std::uint64_t tile, const Tools& tools) -> Status {
      PENSTOCK_ASSIGN(const Tensor elements, made(tile, stage, tools));
      PENSTOCK_TRY(step.look(tile, elements, tools));
      kept_[tile] = tile < keep ? Kept{stage, elements} : Kept{};
      return {};
    };
    const std::uint64_t wanted = shares_.step_bytes + std::min<std::uint64_t>(keep, kept_.size()) * tile_bytes;
    const std::uint64_t held = std::min(wanted, shares_.budget_bytes - std::min(piece_bytes_, shares_.budget_bytes));
    PENSTOCK_TRY(each(kept_.size(), piece_bytes_, held, kept_.size() * given_.tile_bytes(), look_at));
    return with_tools(device_, "oct tiles", options_, [&](const Tools& tools) { return step.looked(tools); });
  }

  Status write(const Tiles& tiles, std::uint64_t sharding_factor, bool force) {
    VolumeSpec spec;
    spec.shape = tiles.mosaic();
    spec.chunks = tiles.tile();
    spec.sharding_factor = sharding_factor;
    spec.spacing_mm = tiles.spacing_mm;
    spec.offset_mm = tiles.offset_mm;
    spec.levels = tiles.levels;
    PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(out_, spec, force));
    const std::uint64_t side = sharding_factor, across = div_up(tiles.grid.cols, side);
    const std::uint64_t objects = div_up(tiles.grid.rows, side) * across;
    const std::uint64_t block = side > 1 ? saturating_mul(side * side, tiles.tile_bytes()) : 0;
    const std::uint64_t bytes = saturating_add(piece_bytes_, saturating_mul(block, 2));
    if (bytes > what_is_left(options_).budget_bytes) kept_.assign(kept_.size(), {});  // shards want the room
    const std::uint64_t held = shares_.budget_bytes - what_is_left(options_).budget_bytes;
    PENSTOCK_TRY(
        each(objects, bytes, held, element_bytes(spec.shape), [&](std::uint64_t i, const Tools& tools) -> Status {
          return write_object(out.array(), tiles, i / across * side, i % across * side, side, tools);
        }));
    kept_.clear();
    // Files beside the image before it: where it stands, all does.
    for (TileStage& stage : stages_) PENSTOCK_TRY(stage.step->finish(out_, stage.done));
    return out.finish(device_, options_);
  }
  static std::uint64_t element_bytes(const Shape& shape) {
    std::uint64_t bytes = sizeof(float);
    for (const std::uint64_t n : shape) bytes = saturating_mul(bytes, n);
    return bytes;
  }

  /// The tiles of one shard, or one.
  Status write_object(Array& out, const Tiles& tiles, std::uint64_t row, std::uint64_t col, std::uint64_t side,
                      const Tools& tools) {
    const TileGrid& grid = tiles.grid;
    const std::uint64_t rows = std::min(side, grid.rows - row), cols = std::min(side, grid.cols - col);
    const Region region = {{0, tiles.depth, 1},
                           {row * grid.tile_rows, rows * grid.tile_rows, 1},
                           {col * grid.tile_cols, cols * grid.tile_cols, 1}};
    Tensor block;
    if (rows * cols > 1) {
      PENSTOCK_ASSIGN(block, Tensor::empty(DType::float32(), shape_of(region), tools.work.stream, options_.memory));
    }
    for (std::uint64_t r = 0; r < rows; ++r)
      for (std::uint64_t c = 0; c < cols; ++c) {
        const std::uint64_t tile = (row + r) * grid.cols + col + c;
        PENSTOCK_ASSIGN(Tensor elements, made(tile, stages_.size(), tools));
        if (rows * cols == 1) {
          block = std::move(elements);
        } else {
          const auto slice = [](std::uint64_t i, std::uint64_t n) {
            return Slice{static_cast<std::int64_t>(i * n), static_cast<std::int64_t>((i + 1) * n), {}};
          };
          PENSTOCK_ASSIGN(const TensorView place,
                          block.view().slice({Slice{}, slice(r, grid.tile_rows), slice(c, grid.tile_cols)}));
          PENSTOCK_TRY(copy_elements(elements.view(), place));
        }
      }
    PENSTOCK_TRY_IN(out.write(region, block.view(), tools.options), out_);
    written_bytes_ += element_bytes(shape_of(region));
    return {};
  }

  const std::string &in_, &out_;
  std::span<TileStage> stages_;
  Device device_;
  const Options& options_;
  const Volume* mosaic_ = nullptr;
  Tiles given_;
  std::vector<Kept> kept_;
  Shares shares_;
  std::uint64_t piece_bytes_ = 0, threads_ = 1;
  std::atomic<std::uint64_t> read_bytes_{0}, written_bytes_{0};
};

}  // namespace

std::uint64_t Tiles::tile_bytes() const {
  return saturating_mul(saturating_mul(sizeof(float), depth), saturating_mul(grid.tile_rows, grid.tile_cols));
}

Result<TileTraffic> run_tiles(const std::string& in, const std::string& out, std::span<TileStage> stages, bool force,
                              Device device, const Options& options) {
  return TileRun(in, out, stages, device, options).run(force);
}

Result<StepDone> run_tile_step(const StepCall& call, std::unique_ptr<TileStep> step) {
  TileStage stage{std::move(step)};
  PENSTOCK_ASSIGN(const TileTraffic traffic,
                  run_tiles(call.path(0), call.path(1), std::span(&stage, 1), call.force, call.device, call.options));
  note_traffic(traffic, call.device, stage.done.metrics);
  return std::move(stage.done);
}

void note_traffic(const TileTraffic& traffic, Device device, Metrics& metrics) {
  metrics.ran("tiles", device.name());
  metrics.note("read_bytes", traffic.read_bytes, "elements that were read, in bytes before they were encoded");
  metrics.note("written_bytes", traffic.written_bytes, "the same of what was written");
}

Result<TileForecast> forecast_tiles(const Tiles& in, std::span<TileStage> stages, const Options& options) {
  PENSTOCK_ASSIGN(const Shares shares, Shares::make(options));
  const std::uint64_t count = in.grid.count();
  TileForecast forecast;
  Tiles tiles = in;
  std::uint64_t kept = 0, piece = 0;  // the first so many tiles
  for (TileStage& stage : stages) {
    PENSTOCK_ASSIGN(const Tiles out, stage.step->begin(tiles, shares.step_bytes));
    piece = std::max(piece, piece_bytes(in, tiles, out, *stage.step));
    const std::uint32_t looks = stage.step->least_looks();
    forecast.looks.push_back(looks);
    for (std::uint32_t look = 0; look < looks; ++look) {
      forecast.traffic.read_bytes += (count - kept) * in.tile_bytes();
      kept = std::min(count, shares.kept(piece, tiles.tile_bytes()));
      forecast.kept_bytes = std::max(forecast.kept_bytes, kept * tiles.tile_bytes());
    }
    tiles = out;
  }
  forecast.traffic.read_bytes += (count - kept) * in.tile_bytes();
  forecast.traffic.written_bytes = count * tiles.tile_bytes();
  forecast.out = tiles;
  return forecast;
}

Result<Tiles> tiles_of(const Volume& mosaic, const std::string& path) {
  PENSTOCK_ASSIGN(const TileGrid grid, tile_grid(mosaic, path));
  return Tiles{grid, mosaic.shape[0], mosaic.spacing_mm, mosaic.offset_mm};
}

}  // namespace penstock::oct
