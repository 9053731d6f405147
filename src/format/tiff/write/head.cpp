#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>

#include "core/json.hpp"
#include "format/tiff/directory.hpp"
#include "format/tiff/tiff.hpp"
#include "format/tiff/write/cog.hpp"

namespace penstock::tiff {
namespace {

enum Type : std::uint16_t {
  kByte = 1,
  kAscii = 2,
  kShort = 3,
  kLong = 4,
  kRational = 5,
  kUndefined = 7,
  kDouble = 12,
  kLong8 = 16
};

template <class T>
void append(std::vector<std::byte>& out, T value) {  // little-endian
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i));
}

/// A field with its values, in file order.
struct Entry {
  std::uint16_t tag = 0, type = 0;
  std::uint64_t count = 0;
  std::vector<std::byte> values;
};

/// By continued fractions.
std::array<std::uint32_t, 2> fraction_of(double value) {
  constexpr double kMost = 4294967295.0;
  std::array<double, 2> before{0, 1}, now{1, 0};  // of the steps so far: above, below
  double rest = std::min(value, kMost);
  for (int step = 0; step < 40; ++step) {
    const double whole = std::floor(rest);
    const std::array<double, 2> next{whole * now[0] + before[0], whole * now[1] + before[1]};
    if (next[0] > kMost || next[1] > kMost) break;
    before = now;
    now = next;
    if (rest - whole < 1e-9) break;
    rest = 1 / (rest - whole);
  }
  return {static_cast<std::uint32_t>(now[0]), static_cast<std::uint32_t>(now[1])};
}

/// The fields of one directory.
class Fields {
 public:
  void add(std::uint16_t tag, std::initializer_list<std::uint16_t> shorts) { add_all(tag, std::vector(shorts)); }
  void add_all(std::uint16_t tag, const std::vector<std::uint16_t>& shorts) { put(tag, kShort, shorts); }
  void add_long(std::uint16_t tag, std::uint64_t value) { put(tag, kLong, std::vector<std::uint64_t>{value}); }
  void add_text(std::uint16_t tag, const std::string& text) {
    if (text.empty()) return;
    Entry entry{tag, kAscii, text.size() + 1, {}};
    for (const char c : text) entry.values.push_back(static_cast<std::byte>(c));
    entry.values.push_back(std::byte{0});
    entries_.push_back(std::move(entry));
  }
  /// A positive number, as the fraction of small numbers that is nearest to it.
  void add_fraction(std::uint16_t tag, double value) {
    Entry entry{tag, kRational, 1, {}};
    for (const std::uint32_t part : fraction_of(value)) append(entry.values, part);
    entries_.push_back(std::move(entry));
  }
  void add_bytes(std::uint16_t tag, Type type, std::span<const std::byte> bytes) {
    if (!bytes.empty()) entries_.push_back({tag, type, bytes.size(), {bytes.begin(), bytes.end()}});
  }
  void add_doubles(std::uint16_t tag, const std::vector<double>& numbers) {
    std::vector<std::uint64_t> bits(numbers.size());
    std::ranges::transform(numbers, bits.begin(), [](double d) { return std::bit_cast<std::uint64_t>(d); });
    put(tag, kDouble, bits);
  }
  template <class T>
  void put(std::uint16_t tag, Type type, const std::vector<T>& values) {
    Entry entry{tag, type, values.size(), {}};
    for (const T value : values) {
      if (type == kShort) append(entry.values, static_cast<std::uint16_t>(value));
      if (type == kLong) append(entry.values, static_cast<std::uint32_t>(value));
      if (type == kDouble || type == kLong8) append(entry.values, static_cast<std::uint64_t>(value));
    }
    entries_.push_back(std::move(entry));
  }
  /// In the order of tags, as the specification asks.
  std::vector<Entry> take() && {
    std::ranges::stable_sort(entries_, {}, &Entry::tag);
    return std::move(entries_);
  }

 private:
  std::vector<Entry> entries_;
};

/// Directory and values, which lie behind it; `at`: its place in the file.
void append_directory(std::vector<std::byte>& out, const std::vector<Entry>& entries, bool big, bool last) {
  const std::uint64_t word = big ? 8 : 4;
  const auto append_word = [&](std::uint64_t value) {
    big ? append(out, value) : append(out, static_cast<std::uint32_t>(value));
  };
  const std::uint64_t at = out.size();
  std::uint64_t values_at = at + (big ? 8 : 2) + entries.size() * (big ? 20 : 12) + word;
  std::uint64_t end = values_at;
  for (const Entry& entry : entries)
    if (entry.values.size() > word) end += (entry.values.size() + 7) / 8 * 8;
  big ? append(out, static_cast<std::uint64_t>(entries.size()))
      : append(out, static_cast<std::uint16_t>(entries.size()));
  for (const Entry& entry : entries) {
    append(out, entry.tag);
    append(out, entry.type);
    append_word(entry.count);
    if (entry.values.size() > word) {
      append_word(values_at);
      values_at += (entry.values.size() + 7) / 8 * 8;
    } else {
      out.insert(out.end(), entry.values.begin(), entry.values.end());
      out.resize(out.size() + word - entry.values.size());
    }
  }
  append_word(last ? 0 : (end + 7) / 8 * 8);
  for (const Entry& entry : entries) {
    if (entry.values.size() <= word) continue;
    out.insert(out.end(), entry.values.begin(), entry.values.end());
    out.resize(out.size() + (8 - entry.values.size() % 8) % 8);
  }
  out.resize((out.size() + 7) / 8 * 8);
}

/// What programs that know it may rely on.
std::string ghost_area(bool with_masks) {
  const std::string text = fmt::format(
      "LAYOUT=IFDS_BEFORE_DATA\nBLOCK_ORDER=ROW_MAJOR\nBLOCK_LEADER=SIZE_AS_UINT4\n"
      "BLOCK_TRAILER=LAST_4_BYTES_REPEATED\nKNOWN_INCOMPATIBLE_EDITION=NO\n {}",
      with_masks ? "MASK_INTERLEAVED_WITH_IMAGERY=YES\n" : "");
  return fmt::format("GDAL_STRUCTURAL_METADATA_SIZE={:06} bytes\n{}", text.size(), text);
}

std::uint16_t compression_code(CogCodec codec) {
  switch (codec) {
    case CogCodec::none: return 1;
    case CogCodec::lzw: return 5;
    case CogCodec::deflate: return 8;
    case CogCodec::zstd: return 50000;
  }
  return 1;
}

std::uint16_t sample_format(const DType& dtype) {
  switch (dtype.kind) {
    case Kind::signed_int: return 2;
    case Kind::floating: return 3;
    case Kind::complex: return 6;
    default: return 1;
  }
}

/// Fields that levels and masks have alike.
void add_tiles(Fields& fields, const Dataset& dataset, const TileTable& table, const RasterPlan& plan, bool big) {
  fields.add_long(256, dataset.shape[2]);
  fields.add_long(257, dataset.shape[1]);
  fields.add(259, {compression_code(plan.options.codec)});
  fields.add(284, {1});
  fields.add(322, {static_cast<std::uint16_t>(dataset.chunk_shape[2])});
  fields.add(323, {static_cast<std::uint16_t>(dataset.chunk_shape[1])});
  fields.put(324, big ? kLong8 : kLong, table.offsets);
  fields.put(325, kLong, table.sizes);
}

Result<Fields> level_fields(const RasterPlan& plan, std::size_t level, const TileTable& table, bool big) {
  const Dataset& dataset = plan.levels[level];
  const auto bands = static_cast<std::uint16_t>(dataset.shape[0]);
  Fields fields;
  if (level > 0) fields.add_long(254, 1);
  add_tiles(fields, dataset, table, plan, big);
  fields.add_all(258, std::vector(bands, static_cast<std::uint16_t>(8 * dataset.dtype.size_bytes)));
  const ColorFields colors = make_color_fields(plan.info, dataset);
  fields.add(262, {colors.photometric});
  fields.add(277, {bands});
  if (*plan.options.predictor > 1) fields.add(317, {static_cast<std::uint16_t>(*plan.options.predictor)});
  if (!colors.colormap.empty()) fields.add_all(320, colors.colormap);
  if (!colors.extra.empty()) fields.add_all(338, colors.extra);
  fields.add_all(339, std::vector(bands, sample_format(dataset.dtype)));
  PENSTOCK_ASSIGN(const std::string nodata, make_nodata_text(dataset));
  fields.add_text(42113, nodata);
  return fields;
}

/// Places of corners, or of the middles of pixels.
void add_place(Fields& fields, const RasterInfo& info) {
  const double shift = info.pixel_is_point ? 0.5 : 0;
  if (!info.transform) {
    std::vector<double> ties;
    for (const GroundControlPoint& p : info.gcps)
      ties.insert(ties.end(), {p.column - shift, p.row - shift, 0, p.x, p.y, p.z});
    if (!ties.empty()) fields.add_doubles(33922, ties);
    return;
  }
  const GeoTransform& t = *info.transform;
  const double x = t[2] + shift * (t[0] + t[1]), y = t[5] + shift * (t[3] + t[4]);
  if (t[1] == 0 && t[3] == 0 && t[0] > 0 && t[4] < 0) {
    fields.add_doubles(33550, {t[0], -t[4], 0});
    fields.add_doubles(33922, {0, 0, 0, x, y, 0});
  } else {
    fields.add_doubles(34264, {t[0], t[1], 0, x, t[3], t[4], 0, y, 0, 0, 0, 0, 0, 0, 0, 1});
  }
}

/// Tags that have fields of their own.
void add_texts(Fields& fields, const Tags& tags) {
  const auto add = [&](const NamedTag& known, auto put) {
    const auto found = std::ranges::find(tags, std::string_view(known.name), &Tags::value_type::first);
    if (found != tags.end()) put(found->second);
  };
  for (const NamedTag& known : kTextTags)
    add(known, [&](const std::string& text) { fields.add_text(known.tag, text); });
  for (const NamedTag& known : kResolutionTags)
    add(known, [&](const std::string& text) {
      double value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error == std::errc() && std::isfinite(value) && value >= 0) fields.add_fraction(known.tag, value);
    });
  add(kResolutionUnitTag, [&](const std::string& text) {
    for (std::uint16_t unit = 1; unit <= 3; ++unit)
      if (text.starts_with(kResolutionUnits[unit - 1][0])) fields.add(kResolutionUnitTag.tag, {unit});
  });
}

Status add_all_about(Fields& fields, const RasterInfo& info, const Dataset& image) {
  add_place(fields, info);
  add_texts(fields, info.tags);
  if (!info.rpc.empty()) fields.add_doubles(50844, info.rpc);
  const std::string xmp = make_xmp(info);
  fields.add_bytes(700, kByte, std::as_bytes(std::span(xmp)));
  PENSTOCK_ASSIGN(const std::vector<std::byte> icc, make_icc_profile(info));
  fields.add_bytes(34675, kUndefined, icc);
  PENSTOCK_ASSIGN(const GeoKeys keys, make_geo_keys(info));
  if (!keys.directory.empty()) fields.add_all(34735, keys.directory);
  if (!keys.numbers.empty()) fields.add_doubles(34736, keys.numbers);
  fields.add_text(34737, keys.texts);
  fields.add_text(42112, make_gdal_metadata(info, make_color_fields(info, image).others));
  return {};
}

Fields mask_fields(const RasterPlan& plan, std::size_t level, const TileTable& table, bool big) {
  constexpr std::uint16_t kTransparencyMask = 4;
  Fields fields;
  fields.add_long(254, level > 0 ? 5 : 4);
  add_tiles(fields, plan.masks[level], table, plan, big);
  fields.add(258, {1});
  fields.add(262, {kTransparencyMask});
  fields.add(277, {1});
  return fields;
}

}  // namespace

Result<std::vector<std::byte>> make_head(const RasterPlan& plan, const std::vector<TileTable>& tables, bool big) {
  std::vector<std::byte> out;
  for (const char c : {'I', 'I'}) out.push_back(static_cast<std::byte>(c));
  append(out, static_cast<std::uint16_t>(big ? 43 : 42));
  if (big) append(out, std::uint32_t{8});
  const std::string ghost = ghost_area(!plan.masks.empty());
  std::uint64_t first = (big ? 16 : 8) + ghost.size();
  first += first % 2;  // right behind the ghost area: GDAL's validator asks for it
  big ? append(out, first) : append(out, static_cast<std::uint32_t>(first));
  for (const char c : ghost) out.push_back(static_cast<std::byte>(c));
  out.resize(first);
  for (std::size_t level = 0, table = 0; level < plan.levels.size(); ++level) {
    const bool last = level + 1 == plan.levels.size();
    PENSTOCK_ASSIGN(Fields fields, level_fields(plan, level, tables[table++], big));
    if (level == 0) PENSTOCK_TRY(add_all_about(fields, plan.info, plan.levels.front()));
    append_directory(out, std::move(fields).take(), big, last && plan.masks.empty());
    if (!plan.masks.empty()) append_directory(out, mask_fields(plan, level, tables[table++], big).take(), big, last);
  }
  return out;
}

}  // namespace penstock::tiff
