#include <bit>
#include <charconv>
#include <cmath>

#include "tracto/file/reader.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{1} << 20;

Error invalid(const std::string& text) { return {ErrorCode::invalid_metadata, text}; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

Result<std::uint64_t> number(std::string_view text, const char* what) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return invalid(std::string(what) + ": '" + std::string(text.substr(0, 40)) + "' is no whole number");
  return value;
}

class TckReader final : public TractogramReader {
 public:
  explicit TckReader(ObjectSource source) : source_(std::move(source)) {}

  Status begin() {
    std::string text(std::min(source_.size_bytes(), kMaxHeaderBytes), '\0');
    PENSTOCK_TRY(source_.read(std::as_writable_bytes(std::span(text))));
    if (!text.starts_with("mrtrix tracks")) return invalid("does not begin with 'mrtrix tracks'");
    std::optional<std::uint64_t> offset;
    bool ended = false;
    for (std::size_t at = text.find('\n'); at < text.size() && !ended;) {
      const std::size_t begin = at + 1, end = text.find('\n', begin);
      if (end == std::string::npos) break;
      const std::string_view line = trimmed(std::string_view(text).substr(begin, end - begin));
      at = end;
      ended = line == "END";
      if (!ended) PENSTOCK_TRY(read_field(line, offset));
    }
    if (!ended) return invalid("the header has no line 'END' within its first MiB");
    if (head_.number_type.empty()) return invalid("datatype: is missing");
    if (!offset) return invalid("file: is missing");
    if (*offset > source_.size_bytes())
      return Error(ErrorCode::corrupt_data, "file: points begin at byte " + std::to_string(*offset) + " of " +
                                                std::to_string(source_.size_bytes()));
    source_.seek(*offset);
    head_.format = "TCK";
    return {};
  }

  Status next(StreamlineBlock& block) override {
    block = {};
    std::uint64_t begin = 0;  // of the streamline that is read
    while (!ended_) {
      std::array<double, 3> p = {};
      for (double& value : p) PENSTOCK_TRY_IN(read(value), "streamline " + std::to_string(done_));
      if (std::isfinite(p[0]) && std::isfinite(p[1]) && std::isfinite(p[2])) {
        if (block.points.size() - begin == kMaxLinePoints)
          return Error(ErrorCode::unsupported, "streamline " + std::to_string(done_) + " has more than 2^24 points");
        block.points.push_back({static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2])});
        continue;
      }
      ended_ = std::isinf(p[0]) && std::isinf(p[1]) && std::isinf(p[2]);
      if (!ended_ && !(std::isnan(p[0]) && std::isnan(p[1]) && std::isnan(p[2])))
        return Error(ErrorCode::corrupt_data, "streamline " + std::to_string(done_) + ": a point that is not finite");
      if (ended_ && block.points.size() == begin) break;  // nothing since the last streamline's end
      block.lengths.push_back(static_cast<std::uint32_t>(block.points.size() - begin));
      begin = block.points.size();
      ++done_;
      if (block.points.size() >= kBlockPoints || block.lengths.size() >= kBlockPoints) break;
    }
    if (ended_ && head_.streamlines && done_ != *head_.streamlines)
      return Error(ErrorCode::corrupt_data, "count: says " + std::to_string(*head_.streamlines) +
                                                " streamlines; there are " + std::to_string(done_));
    return {};
  }

 private:
  Status read_field(std::string_view line, std::optional<std::uint64_t>& offset) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return {};
    const std::string_view key = trimmed(line.substr(0, colon)), value = trimmed(line.substr(colon + 1));
    if (key == "datatype") {
      if (value != "Float32LE" && value != "Float32BE" && value != "Float64LE" && value != "Float64BE")
        return invalid("datatype: '" + std::string(value.substr(0, 40)) +
                       "' must be Float32LE, Float32BE, Float64LE or Float64BE");
      head_.number_type = value.starts_with("Float32") ? "float32" : "float64";
      swapped_ = value.ends_with("BE");
    } else if (key == "file") {
      if (!value.starts_with('.')) return invalid("file: points must be in the file itself ('. OFFSET')");
      PENSTOCK_ASSIGN(offset, number(trimmed(value.substr(1)), "file"));
    } else if (key == "count") {
      PENSTOCK_ASSIGN(const std::uint64_t count, number(value, "count"));
      head_.streamlines = count;
    }
    return {};
  }

  Status read(double& to) {
    if (head_.number_type == "float64") {
      std::uint64_t bits = 0;
      PENSTOCK_TRY(source_.read(std::as_writable_bytes(std::span(&bits, 1))));
      to = std::bit_cast<double>(swapped_ ? __builtin_bswap64(bits) : bits);
    } else {
      std::uint32_t bits = 0;
      PENSTOCK_TRY(source_.read(std::as_writable_bytes(std::span(&bits, 1))));
      to = static_cast<double>(std::bit_cast<float>(swapped_ ? __builtin_bswap32(bits) : bits));
    }
    return {};
  }

  ObjectSource source_;
  bool swapped_ = false, ended_ = false;
  std::uint64_t done_ = 0;
};

}  // namespace

Result<std::unique_ptr<TractogramReader>> read_tck(ObjectSource source) {
  auto reader = std::make_unique<TckReader>(std::move(source));
  PENSTOCK_TRY(reader->begin());
  return std::unique_ptr<TractogramReader>(std::move(reader));
}

}  // namespace penstock::tracto
