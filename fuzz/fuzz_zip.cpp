// Bytes as a ZIP archive: the central directory is read and every member with it.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "fuzz.hpp"
#include "store/zip/directory.hpp"

using namespace penstock;
using fuzz::demand;

namespace {

class ViewSource final : public zip::Source {
 public:
  explicit ViewSource(ByteView bytes) : bytes_(bytes) {}
  const std::string& name() const override { return name_; }
  std::uint64_t size_bytes() const override { return bytes_.size(); }
  Status read(std::uint64_t offset_bytes, ByteSpan into) const override {
    if (offset_bytes > bytes_.size() || into.size() > bytes_.size() - offset_bytes)
      return Error(ErrorCode::corrupt_data, "past the end");
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset_bytes, into.size());
    return {};
  }

 private:
  ByteView bytes_;
  std::string name_ = "fuzz.zip";
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ViewSource source(std::as_bytes(std::span(data, size)));
  const auto members = zip::read_directory(source);
  if (!members) return 0;
  for (const auto& [name, member] : *members) {
    const auto begin = zip::find_data(source, name, member);
    if (!begin) continue;
    demand(*begin <= size && member.compressed_bytes <= size - *begin);
    demand(member.size_bytes / 1032 <= size);
    Bytes out;
    if (zip::read_member(source, name, member, *begin, out)) demand(out.size() == member.size_bytes);
    demand(zip::find_end(source, name, member).has_value());
  }
  return 0;
}
