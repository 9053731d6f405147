// Arrays larger than memory, and with more elements than 32 bits count.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "penstock/ops.hpp"
#include "store/in_child.hpp"
#include "store/store_kinds.hpp"

using namespace penstock;
using penstock::test::in_child;
using penstock::test::TemporaryDirectory;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kBudget = 16 * kMiB;

std::uint8_t value_at(std::uint64_t z, std::uint64_t y, std::uint64_t x) {
  return static_cast<std::uint8_t>((z * 7 ^ y * 13 ^ x * 5) + x / 9);
}

/// 6 times the budget and more, in shards; written a plane of shards at a time.  The text of a child process.
std::string make_sharded(const std::string& url, std::uint64_t depth) {
  Dataset d;
  d.shape = {depth, 512, 512};
  d.chunk_shape = {64, 128, 128};
  d.dtype = DType::uint8();
  d.codecs = {{"sharding_indexed",
               R"({"chunk_shape":[32,64,64],"codecs":[{"name":"bytes"}],"index_codecs":[{"name":"bytes",)"
               R"("configuration":{"endian":"little"}},{"name":"crc32c"}]})"}};
  d.fill.assign(1, std::byte{0});
  Array array = Array::create(open_store(url, StoreMode::create).value(), "a", d, Array::IfExists::fail).value();
  std::vector<std::uint8_t> slab(64 * 512 * 512);
  for (std::uint64_t z = 0; z < depth; z += 64) {
    for (std::size_t i = 0; i < slab.size(); ++i) slab[i] = value_at(z + i / 512 / 512, i / 512 % 512, i % 512);
    const auto written = array.write({{z, 64, 1}, {0, 512, 1}, {0, 512, 1}}, Target{slab.data(), {}, {}, {}}, {});
    if (!written) return written.error().message();
  }
  return "";
}

/// A line of /proc/self/status, in bytes.
std::uint64_t memory_line(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kib = 0;
    if (words >> key >> kib && key == name + ":") return kib << 10;
  }
  return 0;
}

/// The most memory of the work beyond what was there before it; the text of a child process.
std::string filter_within(std::uint64_t budget, const std::string& source, const std::string& url,
                          const std::vector<OpCall>& calls) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const std::uint64_t before = memory_line("VmRSS");
  Options options;
  options.budget_bytes = budget;
  options.threads = 4;
  const auto lazy = LazyArray::make(Array::open(open_store(source, StoreMode::read).value(), "a").value(), calls);
  if (!lazy) return lazy.error().message();
  const auto store = open_store(url, StoreMode::create);
  if (!store) return store.error().message();
  const auto report = lazy->write(*store, "b", {}, Array::IfExists::fail, Device(), options);
  if (!report) return report.error().message();
  if (report->peak_host_bytes > budget) return "it says itself that it took more than its budget";
  const std::uint64_t took = memory_line("VmHWM") - before;
  return took <= budget + 64 * kMiB ? "" : std::to_string(took) + " bytes were taken";
}

}  // namespace

TEST(Large, SixTimesTheBudgetTakesTheBudgetAndGivesWhatTheWholeGives) {
  const TemporaryDirectory scratch;
  const std::vector<OpCall> calls = {{"gaussian_filter", R"({"sigma":1.5})"}};
  ASSERT_EQ(in_child([&] { return make_sharded(scratch / "from", 384); }), "");
  ASSERT_EQ(in_child([&] { return filter_within(kBudget, scratch / "from", scratch / "to", calls); }), "");
  const Array from = Array::open(open_store(scratch / "from", StoreMode::read).value(), "a").value();
  const Tensor source = from.read(whole(from.dataset().shape)).value();
  const Tensor wanted = apply_operators(calls, source.view()).value();
  const Array to = Array::open(open_store(scratch / "to", StoreMode::read).value(), "b").value();
  EXPECT_EQ(to.dataset().chunk_shape, from.dataset().chunk_shape);
  const Tensor made = to.read(whole(to.dataset().shape)).value();
  const auto* a = static_cast<const std::uint8_t*>(wanted.view().data);
  const auto* b = static_cast<const std::uint8_t*>(made.view().data);
  EXPECT_EQ(std::memcmp(a, b, wanted.view().elements().value()), 0);
}

// What is freed goes back to the system: heaps of many threads kept more than the whole budget.
TEST(Large, TheMachineGivesNoMoreThanTheBudget) {
  const TemporaryDirectory scratch;
  ASSERT_EQ(in_child([&] { return make_sharded(scratch / "from", 768); }), "");
  const std::vector<OpCall> calls = {{"gaussian_filter", R"({"sigma":2,"output":"float32"})"}};
  EXPECT_EQ(in_child([&] { return filter_within(96 * kMiB, scratch / "from", scratch / "to", calls); }), "");
}

// Nothing was written: what is read are fill values, however far along.
TEST(Large, ElementsBeyond32Bits) {
  const auto store = open_store("memory://", StoreMode::create).value();
  constexpr std::uint64_t kExtent = (std::uint64_t{1} << 33) + 1000;
  for (const bool long_axis : {true, false}) {
    Dataset d;
    d.shape = long_axis ? Shape{kExtent} : Shape{kExtent >> 12, 1 << 12};
    d.chunk_shape = long_axis ? Shape{1 << 20} : Shape{1 << 8, 1 << 12};
    d.dtype = DType::uint8();
    d.codecs = {{"bytes", "{}"}};
    d.fill.assign(1, std::byte{3});
    Array from = Array::create(store, long_axis ? "line" : "plane", d, Array::IfExists::fail).value();
    // One element that is not the fill value, beyond 2^32 of them.
    Region one = whole(d.shape), around = one;
    for (std::size_t k = 0; k < one.size(); ++k) {
      one[k] = {d.shape[k] - 100, 1, 1};
      around[k] = {d.shape[k] - 103, 7, 1};
    }
    const std::uint8_t nine = 9;
    ASSERT_TRUE(from.write(one, Target{const_cast<std::uint8_t*>(&nine), {}, {}, {}}, {}));
    const OpCall call{"maximum_filter", R"({"size":3})"};
    const LazyArray lazy = LazyArray::make(from, {&call, 1}).value();
    EXPECT_EQ(lazy.shape(), d.shape);
    const Tensor made = lazy.read(around).value();
    std::uint64_t nines = 0;
    const std::uint64_t count = made.view().elements().value();
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint8_t v = static_cast<const std::uint8_t*>(made.view().data)[i];
      EXPECT_TRUE(v == 3 || v == 9) << static_cast<int>(v);
      nines += v == 9 ? 1 : 0;
    }
    EXPECT_EQ(nines, long_axis ? 3u : 9u);
    const std::string text = lazy.explain(lazy.dataset().value(), Device(), {}).value();
    EXPECT_NE(text.find("8.00 GiB"), std::string::npos) << text;
  }
}
