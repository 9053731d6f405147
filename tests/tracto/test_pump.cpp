// Chunks are taken in the order of their seeds, and their points written beside each other, whatever the trackers do.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "tracto/run/pump.hpp"

namespace penstock::tracto {
namespace {

/// A streamline of one point for each seed; later chunks are ready earlier.
class FakeTracker final : public Tracker {
 public:
  explicit FakeTracker(std::uint64_t broken) : broken_(broken) {}
  Result<std::vector<Streamlines>> chunk(Job&, std::uint64_t first, std::uint64_t count) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(first % 4 == 0 ? 3 : 0));
    if (first == broken_) return Error(ErrorCode::cancelled, "as asked");
    std::vector<Streamlines> out(1);
    for (std::uint64_t i = 0; i < count; ++i) {
      out[0].seeds.push_back(first + i);
      out[0].lengths.push_back(1);
      out[0].points.push_back({static_cast<float>(first + i), 0, 0});
    }
    return out;
  }

 private:
  std::uint64_t broken_;
};

/// What came of a run.
struct Outcome {
  std::mutex mutex;
  std::vector<std::uint64_t> taken;    // first seeds of chunks
  std::vector<std::uint64_t> written;  // the same, in the order of their ends
  std::uint64_t points = 0;
  std::uint64_t unwritable = ~std::uint64_t{0};
  bool right = true;  // the points are those of the chunk
};

class FakeSink final : public PointSink {
 public:
  FakeSink(Outcome& out, std::uint64_t first) : out_(out), first_(first) {}
  Status write(ByteView points, PointType) override {
    if (first_ == out_.unwritable) return Error(ErrorCode::no_space, "the disk is full");
    float x = 0;
    std::memcpy(&x, points.data(), sizeof x);
    const std::scoped_lock lock(out_.mutex);
    out_.right = out_.right && x == static_cast<float>(first_);
    out_.points += points.size() / sizeof(Vec3);
    return {};
  }
  Status end() override {
    const std::scoped_lock lock(out_.mutex);
    out_.written.push_back(first_);
    return {};
  }

 private:
  Outcome& out_;
  std::uint64_t first_;
};

Status run(Outcome& out, std::uint64_t broken, int& told) {
  const Options options;
  Job job(options, "test", 0, 1);
  std::vector<std::unique_ptr<Tracker>> trackers;
  for (int i = 0; i < 4; ++i) trackers.push_back(std::make_unique<FakeTracker>(broken));
  return pump(
      job, trackers, {100, 60, 2},
      [&](std::span<const Streamlines> pieces, std::uint64_t) -> Result<std::unique_ptr<PointSink>> {
        out.taken.push_back(pieces[0].seeds[0]);
        return std::unique_ptr<PointSink>(std::make_unique<FakeSink>(out, pieces[0].seeds[0]));
      },
      [&, last = std::size_t{0}]() mutable {
        ++told;
        const std::scoped_lock lock(out.mutex);                 // points are written meanwhile
        out.right = out.right && out.taken.size() <= last + 2;  // trackers do not run ahead of who watches
        last = out.taken.size();
      });
}

TEST(Pump, TakesChunksInOrderAndWritesAll) {
  Outcome out;
  int told = 0;
  ASSERT_TRUE(run(out, 0, told));
  ASSERT_EQ(out.taken.size(), 30u);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(out.taken[i], 100 + 2 * i);
  EXPECT_EQ(out.written.size(), 30u);
  EXPECT_EQ(out.points, 60u);
  EXPECT_TRUE(out.right);
  EXPECT_GT(told, 0);
}

TEST(Pump, EndsAtTheFirstChunkThatFailsAndWritesThoseBefore) {
  Outcome out;
  int told = 0;
  const Status status = run(out, 120, told);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::cancelled);
  EXPECT_EQ(out.taken.size(), 10u);
  EXPECT_EQ(out.written.size(), 10u);
}

TEST(Pump, EndsWherePointsCannotBeWritten) {
  Outcome out;
  out.unwritable = 110;
  int told = 0;
  const Status status = run(out, 0, told);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::no_space);
  EXPECT_LT(out.taken.size(), 30u);
}

}  // namespace
}  // namespace penstock::tracto
