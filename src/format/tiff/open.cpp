#include "format/tiff/open.hpp"

#include <algorithm>

#include "format/node.hpp"
#include "format/tiff/tiff.hpp"
#include "store/fetch_one.hpp"

namespace penstock {

std::string tiff_title(int version) { return version == 43 ? "BigTIFF" : "TIFF"; }

namespace {

/// Reads ahead of what is asked for: directories and what they point to mostly lie close together.
class StoreSource final : public tiff::ByteSource {
 public:
  StoreSource(Candidate& candidate, const Candidate::Head& head)
      : store_(candidate.store()), path_(candidate.path()), head_(head), there_(head.bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return head_.object_bytes; }
  Result<ByteView> get(std::uint64_t offset, std::uint64_t count) override {
    if (offset > size() || count > size() - offset)
      return Error(ErrorCode::corrupt_data, "the file ends at byte " + std::to_string(size()));
    if (offset < first_ || offset + count > first_ + there_.size()) {
      const auto range = ByteRange::span(offset, std::min(std::max(count, kAheadBytes), size() - offset));
      const FetchAnswer answer = fetch_one(store_, {path_, range, head_.same_as()}, bytes_);
      PENSTOCK_TRY(answer.status);
      if (answer.absent) return Error(ErrorCode::changed, "the file was removed meanwhile");
      there_ = bytes_;
      first_ = offset;
    }
    return there_.subspan(offset - first_, count);
  }

 private:
  static constexpr std::uint64_t kAheadBytes = 16384;
  const Store& store_;
  const std::string_view path_;
  const Candidate::Head& head_;
  std::uint64_t first_ = 0;
  ByteView there_;  // from `first_` on
  Bytes bytes_;
};

/// Overviews, masks and metadata in files of their own, as GDAL writes them.  What the store does not tell is not
/// there.
std::vector<std::string> sidecars_of(const Candidate& candidate) {
  std::vector<std::string> found;
  for (const std::string_view suffix : {".ovr", ".msk", ".aux.xml"}) {
    const std::string key = std::string(candidate.path()) + std::string(suffix);
    const FetchAnswer answer = probe(candidate.store(), key);
    if (answer.status && !answer.absent) found.push_back(key);
  }
  return found;
}

}  // namespace

Result<std::optional<NodeInfo>> open_tiff(Candidate& candidate) {
  PENSTOCK_ASSIGN(const Candidate::Head* const head, candidate.head());
  if (head == nullptr || !tiff::is_tiff_header(head->bytes)) return std::optional<NodeInfo>();
  StoreSource source(candidate, *head);
  PENSTOCK_ASSIGN_IN(Dataset dataset, tiff::parse(source, candidate.path()),
                     metadata::where(candidate.store(), candidate.path()));
  return std::optional<NodeInfo>(std::move(dataset));
}

Result<std::optional<RasterFile>> open_tiff_raster(Candidate& candidate) {
  PENSTOCK_ASSIGN(const Candidate::Head* const head, candidate.head());
  if (head == nullptr || !tiff::is_tiff_header(head->bytes)) return std::optional<RasterFile>();
  StoreSource source(candidate, *head);
  PENSTOCK_ASSIGN_IN(RasterFile raster, tiff::parse_raster(source, candidate.path()),
                     metadata::where(candidate.store(), candidate.path()));
  raster.info.sidecars = sidecars_of(candidate);
  return std::optional(std::move(raster));
}

Result<std::optional<std::vector<std::string>>> tiff_cog_problems(Candidate& candidate, bool every_tile) {
  using Problems = std::vector<std::string>;
  PENSTOCK_ASSIGN(const Candidate::Head* const head, candidate.head());
  if (head == nullptr || !tiff::is_tiff_header(head->bytes)) return std::optional<Problems>();
  StoreSource source(candidate, *head);
  PENSTOCK_ASSIGN_IN(Problems problems, tiff::cog_problems(source, every_tile),
                     metadata::where(candidate.store(), candidate.path()));
  return std::optional(std::move(problems));
}

}  // namespace penstock
