// jenkins_lookup3: the bytes and then their lookup3 hash.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/checksum32.html
//                https://burtleburtle.net/bob/c/lookup3.c (public domain: hashlittle)
// Names          v3 "numcodecs.jenkins_lookup3", alias "jenkins_lookup3"; v2 "jenkins_lookup3"
// Example        {"name": "numcodecs.jenkins_lookup3", "configuration": {"initval": 0, "prefix": null}}
// Limits         prefix: null or a list of numbers from 0 to 255, hashed before the bytes; chunks below 4 GiB hash as
//                elsewhere (the hash takes the length modulo 2^32)
// Deviations     none
#include <fmt/format.h>

#include <bit>
#include <vector>

#include "codec/checksum.hpp"
#include "codec/jenkins_lookup3/jenkins_lookup3.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

/// The hash's three words, and how they are stirred.
struct State {
  std::uint32_t a, b, c;
  void mix() {
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  void finish() {
    c ^= b, c -= std::rotl(b, 14);
    a ^= c, a -= std::rotl(c, 11);
    b ^= a, b -= std::rotl(a, 25);
    c ^= b, c -= std::rotl(b, 16);
    a ^= c, a -= std::rotl(c, 4);
    b ^= a, b -= std::rotl(a, 14);
    c ^= b, c -= std::rotl(b, 24);
  }
};

/// The hash of the prefix and the bytes, as if they were one.
std::uint32_t lookup3(ByteView prefix, ByteView bytes, std::uint32_t initval) {
  const std::uint64_t length = prefix.size() + bytes.size();
  const std::uint32_t start = 0xdeadbeefU + static_cast<std::uint32_t>(length) + initval;
  State s{start, start, start};
  const auto at = [&](std::uint64_t i) {
    return static_cast<std::uint32_t>(i < prefix.size() ? prefix[i] : bytes[i - prefix.size()]);
  };
  const auto add = [&](std::uint64_t i, std::uint32_t k) {
    const std::uint32_t value = at(i) << (8 * (k % 4));
    (k < 4 ? s.a : k < 8 ? s.b : s.c) += value;
  };
  std::uint64_t i = 0;
  for (; length - i > 12; i += 12) {
    for (std::uint32_t k = 0; k < 12; ++k) add(i + k, k);
    s.mix();
  }
  if (i == length) return s.c;
  for (std::uint32_t k = 0; i + k < length; ++k) add(i + k, k);
  s.finish();
  return s.c;
}

Result<std::vector<std::byte>> parse_prefix(const Json& configuration) {
  std::vector<std::byte> prefix;
  const auto it = configuration.find("prefix");
  if (it == configuration.end() || it->is_null()) return prefix;
  if (!it->is_array()) return bad_configuration("\"prefix\" must be null or a list of numbers from 0 to 255");
  for (const Json& item : *it) {
    PENSTOCK_ASSIGN(const std::uint64_t value, to_u64(item, "an item of \"prefix\""));
    if (value > 255) return bad_configuration(fmt::format("an item of \"prefix\" is {}, more than 255", value));
    prefix.push_back(static_cast<std::byte>(value));
  }
  return prefix;
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"initval", "prefix"}));
  PENSTOCK_ASSIGN(const std::int64_t initval, int_or(configuration, "initval", 0, 0, UINT32_MAX));
  PENSTOCK_ASSIGN(std::vector<std::byte> prefix, parse_prefix(configuration));
  CodecSpec spec{"numcodecs.jenkins_lookup3", dump_json(configuration)};
  return AnyCodec(make_checksum(
      std::move(spec), ChecksumLocation::end,
      [prefix = std::move(prefix), initval = static_cast<std::uint32_t>(initval)](ByteView bytes) {
        return lookup3(prefix, bytes, initval);
      },
      std::nullopt));
}

constexpr std::string_view kAliases[] = {"jenkins_lookup3"};

}  // namespace

const CodecEntry kJenkinsCodec = {"numcodecs.jenkins_lookup3", kAliases, "jenkins_lookup3", make, nullptr, nullptr};

}  // namespace penstock
