#include "core/checked.hpp"
#include "core/json.hpp"
#include "tracto/file/grid_check.hpp"
#include "tracto/file/reader.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 48;
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{16} << 20;

Error invalid(const std::string& text) { return {ErrorCode::invalid_metadata, text}; }

struct Header {
  std::uint64_t streamlines = 0, points = 0;
  ImageGrid grid;
};

Result<Header> parse_header(std::string_view text) {
  PENSTOCK_ASSIGN_IN(const Json json, parse_json(text), "header.json");
  Header h;
  const auto count = [&](const char* name) -> Result<std::uint64_t> {
    PENSTOCK_ASSIGN_IN(const std::int64_t n, int_member(json, name, 0, kMaxCount), "header.json");
    return static_cast<std::uint64_t>(n);
  };
  PENSTOCK_ASSIGN(h.streamlines, count("NB_STREAMLINES"));
  PENSTOCK_ASSIGN(h.points, count("NB_VERTICES"));
  PENSTOCK_ASSIGN_IN(const Json* const dims, member(json, "DIMENSIONS"), "header.json");
  PENSTOCK_ASSIGN_IN(const Json* const affine, member(json, "VOXEL_TO_RASMM"), "header.json");
  if (!dims->is_array() || dims->size() != 3) return invalid("header.json: DIMENSIONS: must be 3 numbers");
  for (std::size_t d = 0; d < 3; ++d) {
    PENSTOCK_ASSIGN(h.grid.dims[d], to_u64((*dims)[d], "header.json: DIMENSIONS"));
  }
  if (!affine->is_array() || affine->size() != 4) return invalid("header.json: VOXEL_TO_RASMM: must be 4 rows");
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 4; ++k) {
      const Json& row = (*affine)[i];
      if (!row.is_array() || row.size() != 4 || !row[k].is_number())
        return invalid("header.json: VOXEL_TO_RASMM: must be rows of 4 numbers");
      h.grid.world_from_voxel.rows[4 * i + k] = row[k].get<double>();
    }
  PENSTOCK_TRY_IN(check_grid(h.grid), "header.json");
  return h;
}

/// A member "NAME[.COLUMNS].TYPE".
struct Member {
  std::string key, name, type;
  std::uint64_t columns = 1;
};
Member split_name(const std::string& key) {
  Member m{key, key, "", 1};
  if (const auto dot = m.name.rfind('.'); dot != std::string::npos) {
    m.type = m.name.substr(dot + 1);
    m.name.resize(dot);
  }
  const auto dot = m.name.rfind('.');
  if (dot == std::string::npos || dot + 1 == m.name.size() || m.name.size() - dot > 5) return m;
  const std::string digits = m.name.substr(dot + 1);
  if (digits.find_first_not_of("0123456789") != std::string::npos) return m;
  m.columns = std::stoull(digits);
  m.name.resize(dot);
  return m;
}

std::uint64_t type_bytes(const std::string& type) {
  if (type == "float16") return 2;
  if (type == "float32" || type == "uint32" || type == "int32") return 4;
  if (type == "float64" || type == "uint64" || type == "int64") return 8;
  return type == "uint8" ? 1 : 0;
}

class TrxReader final : public TractogramReader {
 public:
  explicit TrxReader(std::shared_ptr<const Store> store) : store_(std::move(store)) {}

  Status begin() {
    Bytes text;
    const auto fits = [](std::uint64_t bytes) -> Status {
      return bytes <= kMaxHeaderBytes ? Status() : Status(invalid("header.json: more than 16 MiB"));
    };
    const FetchAnswer answer = fetch_one(*store_, {"header.json", {}, nullptr}, text, fits);
    PENSTOCK_TRY(answer.status);
    if (answer.absent) return invalid("header.json is missing: this is no TRX");
    PENSTOCK_ASSIGN(header_, parse_header({reinterpret_cast<const char*>(answer.bytes.data()), answer.bytes.size()}));
    head_.format = "TRX";
    head_.grid = header_.grid;
    head_.streamlines = header_.streamlines;
    PENSTOCK_ASSIGN(const std::vector<std::string> keys, store_->list(""));
    for (const std::string& key : keys) PENSTOCK_TRY_IN(add_member(split_name(key)), key);
    if (!points_) return invalid("positions.3.float32 (or float16, float64) is missing");
    if (!offsets_) return invalid("offsets.uint64 (or uint32) is missing");
    return begin_offsets();
  }

  Status next(StreamlineBlock& block) override {
    block = {};
    std::uint64_t points = 0;
    const std::uint64_t first = done_;
    while (done_ < header_.streamlines) {
      PENSTOCK_ASSIGN_IN(const std::uint64_t end, next_offset(), "offsets");
      if (end < offset_ || end > header_.points)
        return Error(ErrorCode::corrupt_data, "offsets: streamline " + std::to_string(done_) + " of " +
                                                  std::to_string(header_.streamlines) + " would be points " +
                                                  std::to_string(offset_) + " to " + std::to_string(end) + " of " +
                                                  std::to_string(header_.points));
      if (end - offset_ > kMaxLinePoints)
        return Error(ErrorCode::unsupported,
                     "streamline " + std::to_string(done_) + " has " + std::to_string(end - offset_) + " points");
      block.lengths.push_back(static_cast<std::uint32_t>(end - offset_));
      points += end - offset_;
      offset_ = end;
      ++done_;
      if (points >= kBlockPoints || block.lengths.size() >= kBlockPoints) break;
    }
    if (done_ == header_.streamlines && offset_ != header_.points)
      return Error(ErrorCode::corrupt_data,
                   "offsets: end at point " + std::to_string(offset_) + " of " + std::to_string(header_.points));
    PENSTOCK_TRY_IN(read_points(points, block.points), "positions");
    return read_said(done_ - first, block);
  }

 private:
  Status add_member(const Member& m) {
    const bool root = m.name.find('/') == std::string::npos;
    const bool positions = root && m.name == "positions", offsets = root && m.name == "offsets";
    if (!positions && !offsets) {
      if (m.key != "header.json") head_.names.push_back(m.name);
      return take_said(m);
    }
    std::optional<ObjectSource>& to = positions ? points_ : offsets_;
    if (to) return invalid("there are two of them");
    PENSTOCK_ASSIGN(to, ObjectSource::open(store_, m.key));
    if (positions) {
      if (m.columns != 3 || !m.type.starts_with("float") || type_bytes(m.type) == 0)
        return invalid("positions must be 3 numbers of float16, float32 or float64");
      head_.number_type = m.type;
      point_bytes_ = type_bytes(m.type);
      return expect(*to, header_.points, 3 * point_bytes_);
    }
    if (m.type != "uint32" && m.type != "uint64" && m.type != "int64" && m.type != "int32")
      return invalid("offsets must be uint32 or uint64");
    offset_bytes_ = type_bytes(m.type);
    return {};
  }

  /// What penstock says of each streamline, where it has the type that penstock writes.
  Status take_said(const Member& m) {
    const auto take = [&](std::optional<ObjectSource>& to, bool& says, std::uint64_t bytes) -> Status {
      PENSTOCK_ASSIGN(to, ObjectSource::open(store_, m.key));
      says = true;
      return expect(*to, header_.streamlines, bytes);
    };
    if (m.key == "dps/seed.3.float32") return take(seeds_, head_.says.seed_points, 12);
    if (m.key == "dps/seed_index.uint64") return take(numbers_, head_.says.seed_numbers, 8);
    if (m.key == "dps/reason.2.uint8") return take(reasons_, head_.says.reasons, 2);
    return {};
  }

  static Status expect(const ObjectSource& source, std::uint64_t count, std::uint64_t bytes_each) {
    PENSTOCK_ASSIGN(const std::uint64_t want, checked_mul(count, bytes_each));
    if (source.size_bytes() == want) return {};
    return Error(ErrorCode::corrupt_data, "has " + std::to_string(source.size_bytes()) + " bytes; header.json counts " +
                                              std::to_string(count) + ", which are " + std::to_string(want));
  }

  /// The beginning of each streamline, and, but in old files, the end of the last.
  Status begin_offsets() {
    const std::uint64_t all = offsets_->size_bytes() / offset_bytes_;
    if (offsets_->size_bytes() % offset_bytes_ != 0 || (all != header_.streamlines && all != header_.streamlines + 1))
      return Error(ErrorCode::corrupt_data, "offsets: " + std::to_string(offsets_->size_bytes()) + " bytes for " +
                                                std::to_string(header_.streamlines) + " streamlines");
    has_end_ = all == header_.streamlines + 1;
    if (header_.streamlines == 0) return {};
    PENSTOCK_ASSIGN_IN(offset_, read_offset(), "offsets");
    if (offset_ != 0) return Error(ErrorCode::corrupt_data, "offsets: begin at " + std::to_string(offset_) + ", not 0");
    return {};
  }
  Result<std::uint64_t> read_offset() {
    std::uint64_t value = 0;
    PENSTOCK_TRY(offsets_->read(std::as_writable_bytes(std::span(&value, 1)).first(offset_bytes_)));
    return value;
  }
  Result<std::uint64_t> next_offset() {
    if (done_ + 1 == header_.streamlines && !has_end_) return header_.points;
    return read_offset();
  }

  Status read_points(std::uint64_t n, std::vector<std::array<float, 3>>& to) {
    to.resize(n);
    if (point_bytes_ == 4) return points_->read(std::as_writable_bytes(std::span(to)));
    std::vector<std::byte> raw(n * 3 * point_bytes_);
    PENSTOCK_TRY(points_->read(raw));
    for (std::uint64_t i = 0; i < 3 * n; ++i) {
      float& value = to[i / 3][i % 3];
      if (point_bytes_ == 2) {
        _Float16 half = 0;
        std::memcpy(&half, raw.data() + 2 * i, 2);
        value = static_cast<float>(half);
      } else {
        double wide = 0;
        std::memcpy(&wide, raw.data() + 8 * i, 8);
        value = static_cast<float>(wide);
      }
    }
    return {};
  }

  Status read_said(std::uint64_t n, StreamlineBlock& block) {
    const auto read = [&](std::optional<ObjectSource>& from, auto& to) -> Status {
      if (!from) return {};
      to.resize(n);
      return from->read(std::as_writable_bytes(std::span(to)));
    };
    PENSTOCK_TRY_IN(read(seeds_, block.seed_points), "dps/seed");
    PENSTOCK_TRY_IN(read(numbers_, block.seed_numbers), "dps/seed_index");
    PENSTOCK_TRY_IN(read(reasons_, block.reasons), "dps/reason");
    return {};
  }

  std::shared_ptr<const Store> store_;
  Header header_;
  std::optional<ObjectSource> points_, offsets_, seeds_, numbers_, reasons_;
  std::uint64_t point_bytes_ = 4, offset_bytes_ = 8;
  bool has_end_ = true;
  std::uint64_t done_ = 0, offset_ = 0;
};

}  // namespace

Result<std::unique_ptr<TractogramReader>> read_trx(std::shared_ptr<const Store> store) {
  auto reader = std::make_unique<TrxReader>(std::move(store));
  PENSTOCK_TRY(reader->begin());
  return std::unique_ptr<TractogramReader>(std::move(reader));
}

}  // namespace penstock::tracto
