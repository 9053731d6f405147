// Bytes of a file by place, as the parser asks for them.
#pragma once
#include <cstdint>

#include "penstock/bytes.hpp"
#include "penstock/error.hpp"

namespace penstock::tiff {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// `count` bytes from `offset` on, valid until the next call.  Errors: corrupt_data (the file ends before), those of
  /// the store.
  virtual Result<ByteView> get(std::uint64_t offset, std::uint64_t count) = 0;
};

}  // namespace penstock::tiff
