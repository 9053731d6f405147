// A raster written level by level while its elements pass once.
//
// The image is walked in boxes of whole units, squares of 2^k tiles a side: of each the tiles of levels 0 to k are made
// at once.  What is left of level k, 1 / 4^k of the image, stays in memory; the coarser levels are made of that.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "array/raster/overview.hpp"
#include "array/tiles/walk.hpp"
#include "codec/chain.hpp"
#include "core/checked.hpp"
#include "core/guard.hpp"
#include "core/units.hpp"
#include "exec/budget.hpp"
#include "format/entry.hpp"
#include "format/format.hpp"
#include "format/raster.hpp"
#include "penstock/cog.hpp"

namespace penstock {
namespace {

/// (band, y, x) of what has perhaps no bands.
Shape raster_shape(const Shape& shape) {
  Shape out = shape;
  if (out.size() == 2) out.insert(out.begin(), 1);
  return out;
}

/// Elements of the image or the mask, as (band, y, x), or a part of them.
class Elements {
 public:
  explicit Elements(const Array& array)
      : source_(array), shape_(array.dataset().shape), dtype_(array.dataset().dtype) {}
  explicit Elements(const TensorView& view) : source_(view), shape_(view.shape), dtype_(view.dtype) {}

  /// Errors: invalid_argument (not of this rank), out_of_range.
  Status take_part(const Region& part) {
    PENSTOCK_TRY(check_region(part, raster_shape(shape_)));
    part_ = part;
    return {};
  }
  [[nodiscard]] Shape shape() const { return part_.empty() ? raster_shape(shape_) : shape_of(part_); }
  [[nodiscard]] const DType& dtype() const { return dtype_; }
  [[nodiscard]] bool is_stored() const { return std::holds_alternative<Array>(source_); }
  [[nodiscard]] Result<Shape> chunks() const {
    if (const Array* const array = std::get_if<Array>(&source_)) {
      PENSTOCK_ASSIGN(const Shape inner, array->dataset().inner_chunk_shape());
      return raster_shape(inner);
    }
    return Shape{1, 1, 1};
  }
  [[nodiscard]] Result<Report> read(const Region& region, const TensorView& into, const Options& options) const {
    TensorView to = into;
    Region from = region;
    for (std::size_t d = 0; d < part_.size(); ++d) from[d].start += part_[d].start;
    if (shape_.size() == 2) {
      from.erase(from.begin());
      to.shape.erase(to.shape.begin());
      to.strides_bytes.erase(to.strides_bytes.begin());
    }
    if (const Array* const array = std::get_if<Array>(&source_)) return array->read(from, to, options);
    std::vector<Index> indices;
    for (const Range& r : from) {
      const auto start = static_cast<std::int64_t>(r.start);
      indices.emplace_back(Slice{start, start + static_cast<std::int64_t>(r.count), 1});
    }
    PENSTOCK_ASSIGN(const TensorView part, std::get<TensorView>(source_).slice(indices));
    PENSTOCK_TRY(copy_elements(part, to));
    return Report{};
  }

 private:
  std::variant<Array, TensorView> source_;
  Shape shape_;
  DType dtype_;
  Region part_;  // empty: all
};

ImageView view_of(const std::byte* data, std::uint64_t bands, std::uint64_t height, std::uint64_t width,
                  std::uint64_t item) {
  const auto row = static_cast<std::int64_t>(width * item);
  return {data, row * static_cast<std::int64_t>(height), row, static_cast<std::int64_t>(item), bands, height, width};
}

std::uint64_t half(std::uint64_t n) { return n / 2 + n % 2; }

/// A part of a level in memory, from a corner of a tile on.
struct Part {
  ImageView image;
  const std::uint8_t* mask = nullptr;  ///< rows of `image.width`
  std::uint64_t row = 0, column = 0;   ///< of its first element in the level
};

/// Memory of a part.
struct PartMemory {
  Bytes image, mask;
};

/// How the levels are made.
struct Ladder {
  /// The next box is read while one is encoded: with larger ones less of the image is left to be read meanwhile.
  static constexpr std::uint64_t kBoxBytes = std::uint64_t{64} << 20;
  std::size_t unit_level = 0;    ///< levels up to this one are made box by box
  std::uint64_t held_bytes = 0;  ///< of that level, and what is made of it
  std::uint64_t unit = 0;        ///< elements of the image along a side of a box
  std::uint64_t box_bytes = 0;
  std::uint64_t need_bytes = 0;  ///< of all, where boxes are as small as can be

  /// The one that holds least of those whose boxes are of kBoxBytes at most and fit; if none does, the one that needs
  /// least.
  static Result<Ladder> make(const RasterPlan& plan, const BudgetPlan& allowed) {
    std::optional<Ladder> best;
    for (std::size_t k = 0; k < plan.levels.size(); ++k) {
      PENSTOCK_ASSIGN(const Ladder ladder, at(plan, k, allowed.threads));
      const bool fits = ladder.need_bytes <= allowed.budget_bytes;
      if (!best || (fits && ladder.box_bytes <= kBoxBytes) ||
          (best->need_bytes > allowed.budget_bytes && ladder.need_bytes < best->need_bytes))
        best = ladder;
    }
    return *best;
  }

 private:
  static Result<Ladder> at(const RasterPlan& plan, std::size_t k, std::uint64_t threads) {
    Ladder ladder;
    ladder.unit_level = k;
    PENSTOCK_ASSIGN(ladder.unit, checked_mul(plan.options.block, std::uint64_t{1} << k));
    const Shape &image = plan.levels.front().shape, &level = plan.levels[k].shape;
    const std::uint64_t item = plan.levels.front().dtype.size_bytes, mask = plan.masks.empty() ? 0 : 1;
    const auto bytes = [&](std::uint64_t height, std::uint64_t width) {
      return saturating_mul(saturating_mul(height, width), saturating_mul(image[0], item) + mask);
    };
    if (k + 1 < plan.levels.size()) ladder.held_bytes = saturating_mul(bytes(level[1], level[2]), 3) / 2;
    const std::uint64_t box = bytes(std::min(ladder.unit, image[1]), std::min(ladder.unit, image[2]));
    ladder.box_bytes = box;
    const std::uint64_t tiles =
        saturating_mul(saturating_mul(bytes(plan.options.block, plan.options.block), 4), threads);
    const std::uint64_t work = saturating_add(saturating_mul(box, 3), tiles);  // two boxes, and what is made of one
    ladder.need_bytes = saturating_add(ladder.held_bytes, saturating_mul(work, 2));  // as much for reading them
    return ladder;
  }
};

class LevelWriter {
 public:
  LevelWriter(const RasterPlan& plan, const Ladder& ladder, RasterWriter& out, Job& job)
      : plan_(plan),
        ladder_(ladder),
        out_(out),
        job_(job),
        rule_{plan.options.method.value_or(OverviewMethod::average), plan.levels.front().dtype,
              plan.levels.front().nodata},
        parts_(ladder.unit_level + 1) {}

  Status begin() {
    if (plan_.levels.size() > 1) PENSTOCK_TRY(check_overview(rule_));
    const Dataset& level = plan_.levels.front();
    PENSTOCK_ASSIGN(CodecChain chain, CodecChain::make(level.codecs, {level.chunk_shape, level.dtype, level.fill}));
    chains_.push_back(std::move(chain));
    if (!plan_.masks.empty()) {
      const Dataset& mask = plan_.masks.front();
      PENSTOCK_ASSIGN(CodecChain of_mask, CodecChain::make(mask.codecs, {mask.chunk_shape, mask.dtype, mask.fill}));
      chains_.push_back(std::move(of_mask));
    }
    return reserve(rest_, ladder_.unit_level);
  }
  /// Of tiles of the image.
  [[nodiscard]] const CodecChain& chain() const { return chains_.front(); }

  /// All levels that are made of a box of the image.
  Status take(const Part& box) {
    std::vector<Part> parts = {box};
    for (std::size_t k = 1; k <= ladder_.unit_level; ++k) {
      PENSTOCK_ASSIGN(const Part part, coarser(parts.back(), parts_[k]));
      parts.push_back(part);
    }
    if (has_rest()) keep(parts.back());
    return encode(0, parts);
  }

  /// The levels that are made of what was kept.
  Status finish() {
    if (!has_rest()) return {};
    const Shape& shape = plan_.levels[ladder_.unit_level].shape;
    Part part{view_of(rest_.image.data(), shape[0], shape[1], shape[2], rule_.dtype.size_bytes),
              plan_.masks.empty() ? nullptr : bytes_of(rest_.mask), 0, 0};
    std::vector<PartMemory> memory(plan_.levels.size());
    std::vector<Part> parts;
    for (std::size_t k = ladder_.unit_level + 1; k < plan_.levels.size(); ++k) {
      PENSTOCK_ASSIGN(part, coarser(part, memory[k]));
      parts.push_back(part);
    }
    return encode(ladder_.unit_level + 1, parts);
  }

 private:
  [[nodiscard]] bool has_rest() const { return ladder_.unit_level + 1 < plan_.levels.size(); }
  static const std::uint8_t* bytes_of(const Bytes& bytes) {
    return reinterpret_cast<const std::uint8_t*>(bytes.data());
  }

  Status reserve(PartMemory& memory, std::size_t level) const {
    if (!has_rest()) return {};
    const Shape& shape = plan_.levels[level].shape;
    PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(shape));
    PENSTOCK_TRY(memory.image.resize_discard(elements * rule_.dtype.size_bytes));
    return plan_.masks.empty() ? Status() : memory.mask.resize_discard(shape[1] * shape[2]);
  }

  Result<Part> coarser(const Part& fine, PartMemory& memory) {
    const std::uint64_t height = half(fine.image.height), width = half(fine.image.width);
    const std::uint64_t item = rule_.dtype.size_bytes;
    PENSTOCK_TRY(memory.image.resize_discard(fine.image.bands * height * width * item));
    if (fine.mask != nullptr) PENSTOCK_TRY(memory.mask.resize_discard(height * width));
    PENSTOCK_TRY(make_overview(rule_, fine.image, fine.mask, memory.image.data(),
                               reinterpret_cast<std::uint8_t*>(memory.mask.data()), job_));
    return Part{view_of(memory.image.data(), fine.image.bands, height, width, item),
                fine.mask != nullptr ? bytes_of(memory.mask) : nullptr, fine.row / 2, fine.column / 2};
  }

  /// Puts the coarsest part of a box where it belongs in what is kept.
  void keep(const Part& part) {
    const Shape& shape = plan_.levels[ladder_.unit_level].shape;
    const std::uint64_t item = rule_.dtype.size_bytes;
    for (std::uint64_t b = 0; b < shape[0]; ++b)
      for (std::uint64_t y = 0; y < part.image.height; ++y) {
        const std::uint64_t at = (b * shape[1] + part.row + y) * shape[2] + part.column;
        copy_row(part.image, b, y, 0, part.image.width, rest_.image.data() + at * item);
      }
    for (std::uint64_t y = 0; part.mask != nullptr && y < part.image.height; ++y)
      std::memcpy(rest_.mask.data() + (part.row + y) * shape[2] + part.column, part.mask + y * part.image.width,
                  part.image.width);
  }

  void copy_row(const ImageView& from, std::uint64_t band, std::uint64_t y, std::uint64_t x, std::uint64_t count,
                std::byte* to) const {
    const std::uint64_t item = rule_.dtype.size_bytes;
    const std::byte* at = from.data + static_cast<std::int64_t>(band) * from.band_stride +
                          static_cast<std::int64_t>(y) * from.row_stride +
                          static_cast<std::int64_t>(x) * from.column_stride;
    if (from.column_stride == static_cast<std::int64_t>(item)) {
      std::memcpy(to, at, count * item);
      return;
    }
    for (std::uint64_t i = 0; i < count; ++i, at += from.column_stride) std::memcpy(to + i * item, at, item);
  }

  /// All tiles that begin in the parts, which are of levels one after another from `first` on: all in one loop, so
  /// that no thread waits for the end of a level.
  Status encode(std::size_t first, const std::vector<Part>& parts) {
    const std::uint64_t block = plan_.options.block;
    std::vector<std::uint64_t> ends;  // of the tiles of each part
    for (const Part& part : parts)
      ends.push_back((ends.empty() ? 0 : ends.back()) +
                     div_up(part.image.height, block) * div_up(part.image.width, block));
    return job_.for_each(ends.empty() ? 0 : ends.back(), true, [&](std::uint64_t i) -> Status {
      const auto k = static_cast<std::size_t>(std::ranges::upper_bound(ends, i) - ends.begin());
      const Part& part = parts[k];
      const std::uint64_t tile = i - (k == 0 ? 0 : ends[k - 1]), columns = div_up(part.image.width, block);
      const std::uint64_t y = tile / columns * block, x = tile % columns * block;
      PENSTOCK_TRY(encode_tile(first + k, part, y, x));
      return part.mask != nullptr ? encode_mask(first + k, part, y, x) : Status();
    });
  }
  [[nodiscard]] std::uint64_t chunk_at(std::size_t level, const Part& part, std::uint64_t y, std::uint64_t x) const {
    const std::uint64_t block = plan_.options.block;
    return (part.row + y) / block * div_up(plan_.levels[level].shape[2], block) + (part.column + x) / block;
  }

  Status encode_tile(std::size_t level, const Part& part, std::uint64_t y, std::uint64_t x) {
    const std::uint64_t block = plan_.options.block, item = rule_.dtype.size_bytes;
    const std::uint64_t height = std::min(block, part.image.height - y), width = std::min(block, part.image.width - x);
    const std::vector<std::byte>& fill = plan_.levels[level].fill;
    Worker& worker = job_.worker();
    const StageClock clock(worker, Stage::encode);
    PENSTOCK_TRY(worker.decoded.resize_discard(part.image.bands * block * block * item));
    for (std::uint64_t b = 0; b < part.image.bands; ++b)
      for (std::uint64_t r = 0; r < block; ++r) {
        std::byte* const row = worker.decoded.data() + (b * block + r) * block * item;
        const std::uint64_t there = r < height ? width : 0;
        if (there > 0) copy_row(part.image, b, y + r, x, there, row);
        for (std::uint64_t i = there; i < block; ++i) std::memcpy(row + i * item, fill.data(), item);
      }
    return put(level, false, chunk_at(level, part, y, x), worker);
  }

  Status encode_mask(std::size_t level, const Part& part, std::uint64_t y, std::uint64_t x) {
    const std::uint64_t block = plan_.options.block;
    const std::uint64_t height = std::min(block, part.image.height - y), width = std::min(block, part.image.width - x);
    Worker& worker = job_.worker();
    const StageClock clock(worker, Stage::encode);
    PENSTOCK_TRY(worker.decoded.resize_discard(block * block));
    std::memset(worker.decoded.data(), 0, block * block);
    for (std::uint64_t r = 0; r < height; ++r)
      std::memcpy(worker.decoded.data() + r * block, part.mask + (y + r) * part.image.width + x, width);
    return put(level, true, chunk_at(level, part, y, x), worker);
  }

  Status put(std::size_t level, bool of_mask, std::uint64_t chunk, Worker& worker) {
    PENSTOCK_TRY(chains_[of_mask ? 1 : 0].encode(worker.decoded, worker.encoded, worker.scratch));
    ++worker.chunks;
    worker.stored_bytes += worker.encoded.size();
    const StageClock clock(worker, Stage::store, Stage::encode);
    return out_.put(level, of_mask, chunk, worker.encoded);
  }

  const RasterPlan& plan_;
  const Ladder& ladder_;
  RasterWriter& out_;
  Job& job_;
  const OverviewRule rule_;
  std::vector<CodecChain> chains_;  // of tiles, and of those of masks
  std::vector<PartMemory> parts_;   // by level
  PartMemory rest_;                 // of all of level `unit_level`
};

/// Image and mask.
struct Sources {
  Elements image;
  std::optional<Elements> mask;

  static Result<Sources> make(const CogInput& from) {
    const auto elements = [](const auto& source) { return Elements(source); };
    Sources sources{std::visit(elements, from.image), std::nullopt};
    if (const auto* const array = std::get_if<Array>(&from.mask)) sources.mask.emplace(*array);
    if (const auto* const view = std::get_if<TensorView>(&from.mask)) sources.mask.emplace(*view);
    if (!from.region.empty()) {
      PENSTOCK_TRY(sources.image.take_part(from.region));
      const Region mask_part{{0, 1}, from.region[1], from.region[2]};
      if (sources.mask) PENSTOCK_TRY(sources.mask->take_part(mask_part));
    }
    const Shape shape = sources.image.shape();
    if (shape.size() != 3)
      return Error(ErrorCode::invalid_argument,
                   fmt::format("an array of {} dimensions: a raster is (band, y, x), or (y, x)", shape.size()));
    if (!sources.mask) return sources;
    const Shape wanted{1, shape[1], shape[2]}, found = sources.mask->shape();
    if (found != wanted)
      return Error(ErrorCode::invalid_argument,
                   fmt::format("the mask is {}, the image {}", to_string(found), to_string(shape)));
    if (const DType& dtype = sources.mask->dtype(); dtype != DType::uint8() && dtype != DType::boolean())
      return Error(ErrorCode::invalid_argument,
                   fmt::format("the mask is of {}: uint8 or bool is wanted", dtype.name()));
    return sources;
  }
};

/// What is written, as a dataset.
Result<Dataset> image_of(const CogInput& from, const Sources& sources) {
  Dataset image;
  image.shape = sources.image.shape();
  image.dtype = sources.image.dtype();
  image.nodata = from.nodata;
  if (from.nodata && from.nodata->size() != image.dtype.size_bytes)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("nodata of {} bytes, elements of {}", from.nodata->size(), image.dtype.size_bytes));
  return image;
}

Result<TileWork> work_of(const Sources& sources, const RasterPlan& plan, const Ladder& ladder, std::uint64_t threads) {
  const Dataset& image = plan.levels.front();
  TileWork work;
  work.what = "write COG";
  work.in_dtype = work.out_dtype = image.dtype;
  work.source_shape = work.out_shape = image.shape;
  PENSTOCK_ASSIGN(work.source_chunks, sources.image.chunks());
  work.out_objects = {image.shape[0], ladder.unit, ladder.unit};
  work.decodes = sources.image.is_stored();
  work.makes = false;
  work.needs = [](const Region& tile) { return tile; };
  const std::uint64_t item = image.dtype.size_bytes,
                      tile_bytes = image.shape[0] * plan.options.block * plan.options.block * item;
  const std::uint64_t mask_item = sources.mask ? 1 : 0;
  work.scratch_bytes = [=](const Region& tile) {
    const std::uint64_t pixels = saturating_mul(tile[1].count, tile[2].count);
    const std::uint64_t image_bytes = saturating_mul(saturating_mul(pixels, tile[0].count), item);
    return saturating_add(image_bytes / 2,
                          saturating_add(2 * mask_item * pixels, saturating_mul(4 * tile_bytes, threads)));
  };
  return work;
}

class CogWrite {
  static constexpr std::uint64_t kWalkBytes = std::uint64_t{1} << 30;

 public:
  CogWrite(const Sources& sources, const RasterPlan& plan, RasterWriter& out, const Store& store,
           const Options& options)
      : sources_(sources), plan_(plan), out_(out), store_(store), options_(options) {}

  Result<Report> run() {
    PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options_, 0));
    PENSTOCK_ASSIGN(const Ladder ladder, Ladder::make(plan_, allowed));
    Options inner = options_;
    if (ladder.need_bytes > allowed.budget_bytes)
      return Error(ErrorCode::budget_too_small,
                   fmt::format("a memory budget of {} is too small: this COG needs {}",
                               format_bytes(allowed.budget_bytes), format_bytes(ladder.need_bytes)))
          .set_hint(fmt::format("Allow at least {} bytes, or write smaller tiles.", ladder.need_bytes));
    // With more, boxes would be so large that there is nothing to encode for long while the first one is read.
    inner.budget_bytes =
        std::min(allowed.budget_bytes - ladder.held_bytes, std::max(ladder.need_bytes - ladder.held_bytes, kWalkBytes));
    PENSTOCK_ASSIGN(const TileWork work, work_of(sources_, plan_, ladder, allowed.threads));
    PENSTOCK_ASSIGN(const TilePlan walk, TilePlan::make(work, inner));
    PENSTOCK_ASSIGN(const std::uint64_t bytes, image_bytes());
    Job job(inner, work.what, bytes, allowed.threads);
    LevelWriter levels(plan_, ladder, out_, job);
    PENSTOCK_TRY(levels.begin());
    TileSteps steps;
    steps.read = [&](const Region& region, const TileMemory& into, const Options& io) {
      return sources_.image.read(region, into.view, io);
    };
    steps.write = [&](const Region& tile, const TensorView& elements, const Options& io) {
      return take(levels, job, tile, elements, io);
    };
    PENSTOCK_ASSIGN(Report report, walk_tiles(work, walk, steps, Device{}, inner));
    PENSTOCK_TRY(job.run([&] { return levels.finish(); }));
    PENSTOCK_TRY(job.run([&] { return out_.lay_out(job); }));
    report.written.reset();
    report.merge(mask_read_);
    report.merge(written_by(job, levels));
    report.budget_bytes = allowed.budget_bytes;
    report.peak_host_bytes += ladder.held_bytes;
    return report;
  }

 private:
  /// Tiles that were encoded, and the file.
  [[nodiscard]] Report written_by(Job& job, const LevelWriter& levels) const {
    Report part;
    job.fill_report(part);
    const std::string threads = fmt::format("{} thread{}", job.worker_count(), job.worker_count() == 1 ? "" : "s");
    part.stages = {
        {"encode", "cpu, " + levels.chain().text() + ", " + threads, "tiles and overviews are made in host memory",
         part.stored_bytes, job.stage_seconds(Stage::encode)},
        {"store", store_.path_taken() + ", " + threads, "tiles wait in $TMPDIR until it is known how large all are",
         out_.file_bytes(), job.stage_seconds(Stage::store)}};
    part.decoded_bytes = part.peak_host_bytes = 0;  // the walk says them
    part.stored_bytes = out_.file_bytes();
    part.requests = 1;
    part.written = {part.chunks, 0, part.requests, part.stored_bytes};
    return part;
  }
  [[nodiscard]] Result<std::uint64_t> image_bytes() const {
    const Dataset& image = plan_.levels.front();
    PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(image.shape));
    return checked_mul(elements, image.dtype.size_bytes);
  }

  Result<Report> take(LevelWriter& levels, Job& job, const Region& tile, const TensorView& elements,
                      const Options& io) {
    Part part;
    const auto& strides = elements.strides_bytes;
    part.image = {static_cast<const std::byte*>(elements.data),
                  strides[0],
                  strides[1],
                  strides[2],
                  elements.shape[0],
                  elements.shape[1],
                  elements.shape[2]};
    part.row = tile[1].start;
    part.column = tile[2].start;
    Report io_needs;
    if (sources_.mask) {
      PENSTOCK_TRY(mask_.resize_discard(tile[1].count * tile[2].count));
      const Region region{{0, 1}, tile[1], tile[2]};
      PENSTOCK_ASSIGN(const TensorView view,
                      TensorView::packed(mask_.data(), sources_.mask->dtype(), shape_of(region)));
      PENSTOCK_ASSIGN(Report read, sources_.mask->read(region, view, io));
      io_needs.peak_host_bytes = read.peak_host_bytes;
      read.decoded_bytes = read.peak_host_bytes = 0;
      mask_read_.merge(read);
      part.mask = reinterpret_cast<const std::uint8_t*>(mask_.data());
    }
    PENSTOCK_TRY(job.run([&] { return levels.take(part); }));
    return io_needs;
  }

  const Sources& sources_;
  const RasterPlan& plan_;
  RasterWriter& out_;
  const Store& store_;
  const Options& options_;
  Bytes mask_;
  Report mask_read_;
};

/// What of the source file has no place in a COG; empty: nothing.
std::string left_behind(const RasterInfo& info) {
  std::vector<std::string> left = info.other_fields;
  left.insert(left.end(), info.other_images.begin(), info.other_images.end());
  left.insert(left.end(), info.sidecars.begin(), info.sidecars.end());
  return fmt::format("{}", fmt::join(left, ", "));
}

/// Before anything was written, or since another writer was sooner.
Error there_already(const Store& store, std::string_view path) {
  return Error(ErrorCode::already_exists, fmt::format("{}/{} is there already", store.url(), path))
      .set_hint("Choose another place, or allow overwriting.");
}

/// Of the image, or what was put in its place.
Status check_crs(const CogInput& from) {
  const auto& crs = from.info.crs;
  if (from.crs_problem.empty() || !crs || crs->epsg || crs->keys) return {};
  return Error(ErrorCode::unsupported, fmt::format("its CRS cannot be written: {}", from.crs_problem))
      .set_hint("say another one: crs= of penstock.write_cog, --crs of penstock cog create.");
}

}  // namespace

Result<Report> write_cog(const CogInput& from, std::shared_ptr<Store> to_store, std::string_view path,
                         const CogOptions& cog, Array::IfExists if_exists, const Options& options) {
  return guarded([&]() -> Result<Report> {
    const auto start = std::chrono::steady_clock::now();
    const FormatEntry* const format = raster_format_of(path);
    if (format == nullptr)
      return Error(ErrorCode::invalid_argument, fmt::format("{}: the name of a COG ends in .tif or .tiff", path));
    PENSTOCK_TRY(check_crs(from));
    PENSTOCK_ASSIGN(const bool stands, to_store->exists(path));
    if (stands && if_exists == Array::IfExists::fail) return there_already(*to_store, path);
    PENSTOCK_ASSIGN(const Sources sources, Sources::make(from));
    PENSTOCK_ASSIGN(const Dataset image, image_of(from, sources));
    PENSTOCK_ASSIGN(const RasterPlan plan, format->plan_raster(image, from.info, sources.mask.has_value(), cog));
    PENSTOCK_ASSIGN(const std::unique_ptr<RasterWriter> out, format->create_raster(*to_store, path, plan));
    PENSTOCK_ASSIGN(Report report, CogWrite(sources, plan, *out, *to_store, options).run());
    const bool replaces = if_exists == Array::IfExists::overwrite;
    const Status done = out->commit(replaces ? WriteCondition::any() : WriteCondition::absent(), options.stop());
    if (!done && !replaces && done.error().code() == ErrorCode::changed) return there_already(*to_store, path);
    PENSTOCK_TRY(done);
    PENSTOCK_TRY(to_store->sync());
    if (const std::string left = left_behind(from.info); !left.empty())
      report.stages.push_back({"describe", "fields of TIFF", "not kept: " + left});
    report.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  });
}

Result<Report> write_cog(const CogInput& from, const std::string& url, const StoreOptions& store, const CogOptions& cog,
                         Array::IfExists if_exists, const Options& options) {
  PENSTOCK_ASSIGN(const Location location, locate(url));
  PENSTOCK_ASSIGN(std::shared_ptr<Store> opened, open_store(location.store_url, StoreMode::read_write, store));
  PENSTOCK_ASSIGN(Report report, write_cog(from, opened, location.path, cog, if_exists, options));
  PENSTOCK_TRY(opened->flush());
  return report;
}

}  // namespace penstock
