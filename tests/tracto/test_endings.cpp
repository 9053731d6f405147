// Tracking that does not come to its end: a disk that is full, a process that is killed.  What else a run promises: how
// much memory it takes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "penstock/tracto.hpp"
#include "penstock/tractogram.hpp"
#include "store/in_child.hpp"
#include "tracto/phantom.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

class Endings : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "out");
    testing::crossing_phantom().write(folder_ / "dwi");
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / "out" / name).string(); }
  [[nodiscard]] std::string dwi() const { return (folder_ / "dwi.nii").string(); }
  [[nodiscard]] std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "out")) names.push_back(entry.path().filename().string());
    return names;
  }
  static TrackOptions many() {
    TrackOptions how;
    how.seeds = 4000;
    how.chunk_seeds = 100;
    how.sphere = 181;
    how.min_length_mm = 3;
    return how;
  }
  fs::path folder_ = fs::temp_directory_path() / ("penstock_endings_" + std::to_string(::getpid()));
};

/// No file may be larger than this: what a full disk gives, for every user.
bool limit_files(rlim_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  return ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

TEST_F(Endings, AFullDiskIsSaidAndNothingIsLeft) {
  for (const char* name : {"a.trx", "a.trx/", "a.trk", "a.tck"}) {
    EXPECT_EQ(test::in_child([&]() -> std::string {
                if (!limit_files(64 << 10)) return "no limit";
                const auto result = track(dwi(), at(name), many(), {}, {});
                if (result) return "more than a disk holds was written";
                if (result.error().code() != ErrorCode::no_space) return "not no_space: " + result.error().message();
                return result.error().message().find("a.t") != std::string::npos ? "" : result.error().message();
              }),
              "")
        << name;
    EXPECT_EQ(left(), std::vector<std::string>()) << name;
  }
}

TEST_F(Endings, AFullDiskEndsMapsToo) {
  EXPECT_EQ(test::in_child([&]() -> std::string {
              if (!limit_files(512)) return "no limit";
              const auto result = fit_dwi(dwi(), at("maps"), DwiModel::csd, {}, {}, {});
              if (result) return "more than a disk holds was written";
              return result.error().code() == ErrorCode::no_space ? "" : result.error().message();
            }),
            "");
  for (const auto& entry : fs::directory_iterator(at("maps"))) {  // those that fit are whole
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
    EXPECT_LE(entry.file_size(), 512u) << entry.path();
  }
}

TEST_F(Endings, KilledItLeavesNoFileThatLooksWholeAndTheNextRunPutsThingsRight) {
  for (const char* name : {"a.trx", "a.trk", "a.tck"}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Options options;
      options.threads = 1;
      options.progress = [](const Progress& state) {
        if (state.done >= 500) ::raise(SIGKILL);
      };
      static_cast<void>(track(dwi(), at(name), many(), {}, options));
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << name;
    EXPECT_FALSE(fs::exists(at(name)));
    for (const std::string& file : left()) EXPECT_TRUE(file.starts_with(".")) << file;
    ASSERT_TRUE(track(dwi(), at(name), many(), {}, {})) << name;
    ASSERT_TRUE(tractogram_info(at(name), {})) << name;
    fs::remove(at(name));
  }
  EXPECT_FALSE(fs::exists(at(".a.trx.penstock.tmp")));
}

TEST_F(Endings, HalvesTakeHalfTheRoomAndLieNear) {
  TrackOptions how = many();
  how.seeds = 300;
  const auto whole = track(dwi(), at("a.trx"), how, {}, {});
  how.dtype = PointType::float16;
  const auto half = track(dwi(), at("b.trx"), how, {}, {});
  ASSERT_TRUE(whole);
  ASSERT_TRUE(half) << half.error().message();
  EXPECT_LT(fs::file_size(at("b.trx")) + whole->points * 6, fs::file_size(at("a.trx")) + 100);
  const auto a = tractogram_info(at("a.trx"), {}), b = tractogram_info(at("b.trx"), {});
  ASSERT_TRUE(a && b);
  EXPECT_EQ(b->number_type, "float16");
  EXPECT_EQ(a->streamlines, b->streamlines);
  EXPECT_NEAR(a->mean_length_mm, b->mean_length_mm, 0.05);
  for (std::size_t d = 0; d < 3; ++d) EXPECT_NEAR(a->box_last[d], b->box_last[d], 0.02);
  how.dtype = PointType::float16;
  const auto refused = track(dwi(), at("b.trk"), how, {}, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("only .trx"), std::string::npos) << refused.error().message();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Endings, MemoryIsSaidBeforeAndKept) {
  for (const std::uint64_t chunk : {std::uint64_t{10000}, std::uint64_t{60000}})
    EXPECT_EQ(test::in_child([&]() -> std::string {
                TrackOptions how = many();
                how.seeds = 60000;
                how.chunk_seeds = chunk;
                how.step_mm = 0.5;
                TrackPlan plan;
                how.planned = [&](const TrackPlan& said) { plan = said; };
                Options options;
                options.threads = 2;
                const auto result = track(dwi(), at("a.trx"), how, {}, options);
                if (!result) return result.error().message();
                const double ratio = static_cast<double>(result->peak_bytes) / static_cast<double>(plan.bytes);
                fs::remove(at("a.trx"));
                if (plan.bytes != result->planned_bytes || plan.seeds != how.seeds) return "another plan";
                return ratio > 0.9 && ratio < 1.1 ? "" : "peak is " + std::to_string(ratio) + " of the plan";
              }),
              "")
        << chunk;
}
#endif

TEST_F(Endings, ABudgetMakesChunksSmallerAndNothingElse) {
  TrackOptions how = many();
  how.seeds = 2000;
  how.chunk_seeds = 2000;
  std::uint64_t chunk = 0;
  how.planned = [&](const TrackPlan& plan) { chunk = plan.chunk_seeds; };
  ASSERT_TRUE(track(dwi(), at("a.tck"), how, {}, {}));
  EXPECT_EQ(chunk, 2000u);
  Options options;
  options.budget_bytes = 1 << 20;
  const auto small = track(dwi(), at("b.tck"), how, {}, options);
  ASSERT_TRUE(small) << small.error().message();
  EXPECT_LT(chunk, 1500u);
  EXPECT_EQ(fs::file_size(at("a.tck")), fs::file_size(at("b.tck")));
}

}  // namespace
}  // namespace penstock
