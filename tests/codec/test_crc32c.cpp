#include <gtest/gtest.h>

#include "codec/crc32c/crc32c.hpp"
#include "support.hpp"

namespace penstock {
namespace {

// RFC 3720, appendix B.4, and the usual check value.
TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, InstructionAndTablesAgreeAtEverySizeAndOffset) {
  const auto data = test::image_bytes(40000);
  for (std::size_t size = 0; size < 1700; ++size)
    ASSERT_EQ(crc32c(ByteView(data).subspan(size % 9, size)), crc32c_portable(ByteView(data).subspan(size % 9, size)));
  for (const std::size_t size : {12287UL, 12288UL, 12289UL, 24576UL, 39999UL})
    ASSERT_EQ(crc32c(ByteView(data).first(size)), crc32c_portable(ByteView(data).first(size))) << size;
}

TEST(Crc32c, Continues) {
  const auto data = test::image_bytes(20000);
  const ByteView view(data);
  EXPECT_EQ(crc32c(view.subspan(777), crc32c(view.first(777))), crc32c(view));
}

}  // namespace
}  // namespace penstock
