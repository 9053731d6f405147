#include <fmt/format.h>

#include <cstring>

#include "codec/vlen_bytes/vlen.hpp"
#include "core/utf8.hpp"

namespace penstock {

Status check_utf8(ByteView elements, ErrorCode code) {
  for (std::size_t i = 0; i < elements.size() / sizeof(VlenRef); ++i) {
    VlenRef ref;
    std::memcpy(&ref, elements.data() + i * sizeof ref, sizeof ref);
    if (const auto bad = find_bad_utf8({ref.data, ref.size}))
      return Error(code, fmt::format("element {} is not UTF-8 at its byte {} (0x{:02x})", i, *bad,
                                     static_cast<unsigned>(ref.data[*bad])));
  }
  return {};
}

}  // namespace penstock
