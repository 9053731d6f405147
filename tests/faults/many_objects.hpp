// An array of many objects, what a write makes of it, and a judge of each object, for tests in which writes fail.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "array/device/write.hpp"
#include "array/model.hpp"
#include "faults/fault_store.hpp"
#include "store/store_kinds.hpp"

namespace penstock::test {

inline constexpr std::uint64_t kThreads[] = {1, 2, 4, 8, 16};
inline constexpr std::uint64_t kEdge = 32;  // of an object; the array has 4 x 4
inline const Shape kShape = {128, 128};

/// An object in the middle, which the region of every write touches.
inline const std::string kBadKey = "c/1/2";

struct Layout {
  const char* name;
  std::vector<CodecSpec> codecs;
};

inline const Layout kRaw{"raw", {bytes_codec()}},
    kZstd{"zstd", {bytes_codec(), {"zstd", R"({"level":9,"checksum":true})"}}},
    kSharded{"sharded", {sharding("[4,4]")}},
    kNested{"nested",
            {sharding(
                "[16,16]", "end", "[" + [] {
                  const CodecSpec inner = sharding("[4,4]");
                  return R"({"name":")" + inner.name + R"(","configuration":)" + inner.configuration + "}";
                }() + "]")}};
inline const Layout kLz4{
    "lz4 in shards",
    {sharding("[4,4]", "end", R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.lz4"}])")}};
inline const Layout* const kLayouts[] = {&kRaw, &kZstd, &kSharded, &kNested, &kLz4};

/// Where the elements come from.  waves: from a device that encodes too, where it can.  The CPU is the device.
enum class From : std::uint8_t { host, device, waves };
inline constexpr From kSources[] = {From::host, From::device, From::waves};
inline const char* name_of(From from) {
  return from == From::host ? "host" : from == From::device ? "device" : "device that encodes";
}

inline std::vector<std::byte> values_of(unsigned seed, const Region& region) {
  std::mt19937_64 random(seed);
  auto values = random_values(region, 2, random);
  for (auto& v : values) v |= std::byte{8};  // never the fill value
  return values;
}

/// An array of which all is written, and what a write then makes of it.
struct Case {
  std::shared_ptr<Store> inner;
  std::shared_ptr<FaultStore> store;
  Dataset d;
  Array array;
  Model before, after;
  Region region;
  std::vector<std::byte> values;

  Case(std::shared_ptr<Store> to, const Layout& layout, bool partial)
      : inner(std::move(to)),
        store(std::make_shared<FaultStore>(inner)),
        d(dataset(kShape, {kEdge, kEdge}, layout.codecs)),
        array(Array::create(store, "", d, Array::IfExists::overwrite).value()),
        before(d),
        after(d),
        region(partial ? Region{{3, 122, 1}, {5, 118, 1}} : whole(kShape)) {
    const auto old = values_of(1, whole(kShape));
    before.write(whole(kShape), old);
    EXPECT_TRUE(test::write(array, whole(kShape), old));
    after = before;
    values = values_of(2, region);
    after.write(region, values);
  }

  [[nodiscard]] Result<Report> write(From from, const Options& options) {
    Target source;
    source.data = values.data();
    if (from == From::host) return array.write(region, source, options);
    setenv("PENSTOCK_ENCODE", from == From::waves ? "device" : "cpu", 1);
    auto written = write_from_device(array, region, source, options, 4096);
    unsetenv("PENSTOCK_ENCODE");
    return written;
  }

  /// "" where every object but the bad one is old or new.
  [[nodiscard]] std::string judge(bool bad_too) const {
    const Array now = Array::open(inner, "").value();
    for (std::uint64_t y = 0; y < kShape[0]; y += kEdge)
      for (std::uint64_t x = 0; x < kShape[1]; x += kEdge) {
        const std::string key = fmt::format("c/{}/{}", y / kEdge, x / kEdge);
        if (!bad_too && key == kBadKey) continue;
        const Region object = {{y, kEdge, 1}, {x, kEdge, 1}};
        const auto there = test::read(now, object, threads(1));
        if (!there) return key + ": " + there.error().message();
        if (*there != before.read(object) && *there != after.read(object)) return key + " is neither old nor new";
      }
    return "";
  }
};

}  // namespace penstock::test
