// TIFF files of one directory, made field by field.
#pragma once
#include <bit>
#include <map>
#include <string>
#include <vector>

#include "format/tiff/tiff.hpp"

namespace penstock::test {

/// A file in memory.
class TiffSource final : public tiff::ByteSource {
 public:
  explicit TiffSource(ByteView bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  Result<ByteView> get(std::uint64_t offset, std::uint64_t count) override {
    if (offset > bytes_.size() || count > bytes_.size() - offset)
      return Error(ErrorCode::corrupt_data, "the file ends at byte " + std::to_string(bytes_.size()));
    return bytes_.subspan(offset, count);
  }

 private:
  ByteView bytes_;
};

/// A classic or BigTIFF file of one directory, whose fields hold one or more numbers.
class MadeTiff {
 public:
  explicit MadeTiff(std::endian order = std::endian::little, bool big = false) : order_(order), big_(big) {
    set(256, 3, {5}).set(257, 3, {3}).set(258, 3, {8}).set(259, 3, {1}).set(273, 4, {200}).set(278, 3, {2});
    set(279, 4, {10});
    set(273, 4, {200, 210}).set(279, 4, {10, 5});
  }
  MadeTiff& set(std::uint16_t tag, std::uint16_t type, std::vector<std::uint64_t> values) {
    fields_[tag] = {type, std::move(values)};
    return *this;
  }
  MadeTiff& erase(std::uint16_t tag) {
    fields_.erase(tag);
    return *this;
  }
  std::uint64_t next = 0;
  std::vector<std::byte> bytes(std::size_t size = 1024) const {
    std::vector<std::byte> out(size);
    out[0] = out[1] = order_ == std::endian::little ? std::byte{'I'} : std::byte{'M'};
    const std::uint64_t at = big_ ? 16 : 8;
    put(out, 2, big_ ? 43 : 42, 2);
    if (big_) put(out, 4, 8, 2);
    put(out, big_ ? 8 : 4, at, word());
    put(out, at, fields_.size(), big_ ? 8 : 2);
    std::uint64_t field = at + (big_ ? 8 : 2), far = 512;
    for (const auto& [tag, value] : fields_) {
      const auto& [type, numbers] = value;
      const std::uint64_t each = tiff::type_bytes(type), all = each * numbers.size();
      put(out, field, tag, 2);
      put(out, field + 2, type, 2);
      put(out, field + 4, numbers.size(), word());
      std::uint64_t to = field + 4 + word();
      if (all > word()) {
        put(out, to, far, word());
        to = far;
        far += all;
      }
      for (const std::uint64_t number : numbers) {
        put(out, to, number, each);
        to += each;
      }
      field += 4 + 2 * word();
    }
    put(out, field, next, word());
    return out;
  }

 private:
  [[nodiscard]] std::uint64_t word() const { return big_ ? 8 : 4; }
  void put(std::vector<std::byte>& out, std::uint64_t at, std::uint64_t value, std::uint64_t size) const {
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t shift = 8 * (order_ == std::endian::little ? i : size - 1 - i);
      out.at(at + i) = static_cast<std::byte>(value >> shift);
    }
  }
  std::endian order_;
  bool big_;
  std::map<std::uint16_t, std::pair<std::uint16_t, std::vector<std::uint64_t>>> fields_;
};

}  // namespace penstock::test
