#include "format/tiff/open.hpp"

#include <algorithm>

#include "format/node.hpp"
#include "format/tiff/tiff.hpp"

namespace penstock {

std::string tiff_title(int version) { return version == 43 ? "BigTIFF" : "TIFF"; }

namespace {

/// Reads ahead of what is asked for: directories and what they point to mostly lie close together.
class StoreSource final : public tiff::ByteSource {
 public:
  explicit StoreSource(const Object& object) : object_(object) {}
  [[nodiscard]] std::uint64_t size() const override { return object_.size_bytes(); }
  Result<ByteView> get(std::uint64_t offset, std::uint64_t count) override {
    if (offset > size() || count > size() - offset)
      return Error(ErrorCode::corrupt_data, "the file ends at byte " + std::to_string(size()));
    if (offset < first_ || offset + count > first_ + bytes_.size()) {
      PENSTOCK_TRY(bytes_.resize_discard(std::min(std::max(count, kAheadBytes), size() - offset)));
      PENSTOCK_TRY(object_.read(offset, bytes_.span()));
      first_ = offset;
    }
    return ByteView(bytes_.data() + (offset - first_), count);
  }

 private:
  static constexpr std::uint64_t kAheadBytes = 16384;
  const Object& object_;
  std::uint64_t first_ = 0;
  Bytes bytes_;
};

}  // namespace

Result<std::optional<NodeInfo>> open_tiff(Candidate& candidate) {
  PENSTOCK_ASSIGN(const Candidate::Head* const head, candidate.head());
  if (head == nullptr || !tiff::is_tiff_header(head->bytes)) return std::optional<NodeInfo>();
  PENSTOCK_ASSIGN(const std::unique_ptr<Object> object, candidate.store().open(candidate.path()));
  if (object == nullptr) return std::optional<NodeInfo>();
  StoreSource source(*object);
  PENSTOCK_ASSIGN_IN(Dataset dataset, tiff::parse(source, candidate.path()),
                     metadata::where(candidate.store(), candidate.path()));
  return std::optional<NodeInfo>(std::move(dataset));
}

}  // namespace penstock
