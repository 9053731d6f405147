// Reads into device memory whose chunks are placed straight from pinned memory, through staging memory, or not at all,
// mixed.  The memory around what is read holds sentinels.  Used with the CPU as the device and with a GPU.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "array/model.hpp"
#include "faults/fault_store.hpp"

namespace penstock::test {

/// How a region lies in the target.
enum class Layout : std::uint8_t { dense, padded, backwards, planes_inside, odd_rows, transposed };
inline constexpr int kLayouts = 6;

/// A target inside memory full of sentinels.
struct Canvas {
  std::vector<std::byte> bytes;
  Strides strides;
  std::size_t offset = 0;  ///< of the first element

  Canvas(const Region& region, std::size_t item, Layout layout) {
    const std::size_t rank = region.size();
    std::vector<std::size_t> order(rank);  // of the axes in memory
    std::iota(order.begin(), order.end(), 0);
    if (layout == Layout::planes_inside) std::swap(order[0], order[rank - 2]);
    if (layout == Layout::transposed) std::reverse(order.begin(), order.end());
    strides.resize(rank);
    std::size_t size = item;
    for (std::size_t i = rank; i-- > 0;) {
      strides[order[i]] = static_cast<std::int64_t>(size);
      size *= region[order[i]].count;
      if (i + 1 == rank && layout == Layout::odd_rows) size += size % 2 == 0 ? item : 2 * item;
      if (i + 1 == rank && layout == Layout::padded) size += 16 + (16 - size % 16) % 16;
    }
    constexpr std::size_t kMargin = 256;
    offset = kMargin;
    if (layout == Layout::backwards) {
      offset += static_cast<std::size_t>(strides[0]) * (region[0].count - 1);
      strides[0] = -strides[0];
    }
    bytes.assign(size + 2 * kMargin, std::byte{0xEE});
  }
  /// What it must hold when the region reads as `values`, which are in C order.
  [[nodiscard]] std::vector<std::byte> with(const Region& region, const std::vector<std::byte>& values,
                                            std::size_t item) const {
    std::vector<std::byte> all = bytes;
    for (std::size_t i = 0; i < values.size() / item; ++i) {
      auto at = static_cast<std::int64_t>(offset);
      std::size_t rest = i;
      for (std::size_t d = region.size(); d-- > 0; rest /= region[d].count)
        at += static_cast<std::int64_t>(rest % region[d].count) * strides[d];
      std::memcpy(&all[static_cast<std::size_t>(at)], &values[i * item], item);
    }
    return all;
  }
};

/// Chunks that were placed straight from pinned memory.
inline std::uint64_t direct_chunks(const Report& report) {
  for (const StageReport& s : report.stages)
    for (const StageCount& c : s.counts)
      if (s.stage == "upload" && c.what == "chunks by their placement") return c.count;
  return 0;
}

/// Reads of arrays that are raw, or decoded by the CPU.  `Read` does one: read(array, region, canvas, options) fills
/// the canvas and gives the report.
template <class Read>
class DirectReads {
 public:
  explicit DirectReads(Read read) : read_(std::move(read)) {}

  /// Of 48 chunks 12 are absent; of the others the 9 at the far edge have short rows.
  void edges_and_absent_chunks() {
    const Dataset d = dataset({40, 50, 200}, {16, 16, 64}, {bytes_codec()});
    fill_and_make(d, {{0, 40, 1}, {16, 34, 1}, {0, 200, 1}});
    const Region all = whole(d.shape);
    Canvas canvas(all, 2, Layout::dense);
    const Report report = expect_read(all, canvas, threads(2));
    EXPECT_EQ(report.absent_chunks, 12u);
    EXPECT_EQ(direct_chunks(report), 27u);
    EXPECT_GT(report.peak_device_bytes, 0u);
    const Region inner = {{0, 40, 1}, {0, 50, 1}, {0, 192, 1}};
    Canvas whole_rows(inner, 2, Layout::dense);
    const Report straight = expect_read(inner, whole_rows, threads(2));
    EXPECT_EQ(direct_chunks(straight), 27u);
    EXPECT_EQ(straight.peak_device_bytes, 0u) << "nothing was staged";
    Canvas turned(all, 2, Layout::transposed);
    EXPECT_EQ(direct_chunks(expect_read(all, turned, threads(2))), 0u);
  }

  /// Random regions into random layouts; chunks larger than a piece, of which small parts are not.
  void mixtures(const std::vector<CodecSpec>& codecs, int rounds) {
    std::uint64_t direct = 0, others = 0;
    for (const auto& [shape, chunk] :
         {std::pair<Shape, Shape>{{40, 50, 200}, {16, 16, 64}}, {{3, 1500, 1024}, {1, 1024, 1024}}}) {
      const Dataset d = dataset(shape, chunk, codecs);
      fill_and_make(d, {{0, shape[0], 1}, {0, shape[1] / 2, 1}, {0, shape[2], 1}});
      for (int round = 0; round < rounds; ++round) {
        Region region = random_region(d.shape, random_);
        if (round % 2 == 0) region[2] = {0, shape[2], 1};
        Canvas canvas(region, 2, static_cast<Layout>(round % kLayouts));
        const Report report = expect_read(region, canvas, threads(1 + random_() % 4));
        direct += direct_chunks(report);
        others += report.chunks - report.absent_chunks - direct_chunks(report);
      }
    }
    EXPECT_GT(direct, 20u);
    EXPECT_GT(others, 20u);
  }

  /// Chunks that cannot be read, between some that can: as a read into host memory leaves them.
  void bad_chunks(const std::vector<CodecSpec>& codecs) {
    const Dataset d = dataset({40, 50, 200}, {16, 16, 64}, codecs);
    fill_and_make(d, whole(d.shape));
    const Region all = whole(d.shape);
    Bytes cut, turned;
    ASSERT_TRUE(store_->get("c/0/0/0", cut).value());
    ASSERT_TRUE(store_->set("c/0/0/0", cut.view().first(cut.size() / 2)));
    ASSERT_TRUE(store_->get("c/1/2/2", turned).value());
    for (std::size_t i = turned.size() / 3; i < turned.size(); ++i) turned.data()[i] ^= std::byte{0x5A};
    if (codecs.size() > 1) {  // what is raw cannot be wrong
      ASSERT_TRUE(store_->set("c/1/2/2", turned.view()));
    }
    store_->add({.op = StoreOp::read, .keys = "c/2/1/3", .error = ErrorCode::io_error});
    store_->add({.op = StoreOp::read, .keys = "c/2/3/1", .error = ErrorCode::io_error});
    Options options = threads(3);
    Canvas canvas(all, 2, Layout::padded);
    const std::vector<std::byte> before = canvas.bytes;
    const Result<Report> failed = read_(*array_, all, canvas, options);
    ASSERT_FALSE(failed);
    options.on_error = OnError::fill;
    canvas.bytes = before;
    const auto want = canvas.with(all, test::read(*array_, all, options).value(), 2);
    const Result<Report> filled = read_(*array_, all, canvas, options);
    ASSERT_TRUE(filled) << filled.error().message();
    EXPECT_TRUE(canvas.bytes == want);
    std::vector<std::string> keys;
    for (const ChunkProblem& problem : filled->problems) keys.push_back(problem.key);
    EXPECT_EQ(keys, codecs.size() > 1 ? (std::vector<std::string>{"c/0/0/0", "c/1/2/2", "c/2/1/3", "c/2/3/1"})
                                      : (std::vector<std::string>{"c/0/0/0", "c/2/1/3", "c/2/3/1"}));
    EXPECT_EQ(direct_chunks(*filled), codecs.size() > 1 ? 33u : 34u) << "of 36 with long rows, without the bad ones";
  }

 private:
  void fill_and_make(const Dataset& d, const Region& written) {
    store_ = std::make_shared<FaultStore>(open_store("memory://", StoreMode::create).value());
    array_.emplace(Array::create(store_, "", d, Array::IfExists::fail).value());
    model_.emplace(d);
    const auto values = random_values(written, 2, random_);
    ASSERT_TRUE(test::write(*array_, written, values));
    model_->write(written, values);
  }
  Report expect_read(const Region& region, Canvas& canvas, const Options& options) {
    const auto want = canvas.with(region, model_->read(region), 2);
    Result<Report> report = read_(*array_, region, canvas, options);
    EXPECT_TRUE(report) << report.error().message();
    EXPECT_TRUE(canvas.bytes == want) << to_string(region);
    return std::move(report).value();
  }

  Read read_;
  std::mt19937_64 random_{12};
  std::shared_ptr<FaultStore> store_;
  std::optional<Array> array_;
  std::optional<Model> model_;
};

inline const CodecSpec kBigEndian{"bytes", R"({"endian":"big"})"};

}  // namespace penstock::test
