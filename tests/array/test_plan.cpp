// A read runs the very plan that explain prints: what is changed in it is seen in both.
#include <gtest/gtest.h>

#include "array/model.hpp"
#include "array/run_plan.hpp"

namespace penstock {
namespace {

struct Planned : ::testing::Test {
  Dataset d = test::dataset({64, 64}, {16, 64}, {test::bytes_codec(), test::zstd_codec()});
  Array array = Array::create(open_store("memory://", StoreMode::create).value(), "", d, Array::IfExists::fail).value();
  test::Model model{d};
  std::vector<std::byte> out = std::vector<std::byte>(64 * 64 * 2);

  void SetUp() override {
    std::mt19937_64 random(3);
    const auto values = test::random_values(whole(d.shape), 2, random);
    model.write(whole(d.shape), values);
    ASSERT_TRUE(test::write(array, whole(d.shape), values));
  }
  ReadPlan plan(ReadWay way, const Options& options = test::threads(2)) {
    std::vector<BoundRegion> regions;
    regions.push_back(BoundRegion::make(array, whole(d.shape), {out.data(), {}, {}, {}}, nullptr).value());
    return make_plan(std::move(regions), way, {}, options).value();
  }
  Report run(const ReadPlan& plan) {
    out.assign(out.size(), std::byte{0xEE});
    const Stream stream;
    Report report = run_plan(plan, {&stream, 1}, test::threads(2)).value();
    EXPECT_TRUE(out == model.data);
    return report;
  }
};

std::string stage_path(const std::vector<StageReport>& stages, std::string_view name) {
  for (const StageReport& s : stages)
    if (s.stage == name) return s.path + ": " + s.reason;
  return "";
}

}  // namespace

TEST_F(Planned, TheBudgetAndTheThreads) {
  ReadPlan changed = plan(ReadWay::host);
  changed.allowed.budget_bytes = 7'654'321;
  changed.threads = 1;
  const Report report = run(changed);
  EXPECT_EQ(report.budget_bytes, 7'654'321u);
  EXPECT_EQ(report.threads, 1u);
  EXPECT_EQ(changed.summary().budget_bytes, 7'654'321u);
  EXPECT_EQ(changed.summary().workers, 1u);
}

TEST_F(Planned, WhereChunksAreDecoded) {
  setenv("PENSTOCK_DECODE", "device", 1);
  ReadPlan changed = plan(ReadWay::device);
  unsetenv("PENSTOCK_DECODE");
  ASSERT_EQ(changed.decode.decode, DevicePath::Decode::on_device);
  EXPECT_EQ(stage_path(run(changed).stages, "decode"), stage_path(changed.summary().stages, "decode"));
  EXPECT_NE(changed.summary().text().find("PENSTOCK_DECODE=device"), std::string::npos);
  changed.decode.decode = DevicePath::Decode::on_cpu;
  changed.decode.text = "cpu, as the test says";
  changed.decode.reason = "to see it in both";
  const Report report = run(changed);
  EXPECT_EQ(stage_path(report.stages, "decode"), "cpu, as the test says: to see it in both");
  EXPECT_EQ(stage_path(changed.summary().stages, "decode"), "cpu, as the test says: to see it in both");
  EXPECT_EQ(stage_path(report.stages, "upload"), stage_path(changed.summary().stages, "upload"));
}

TEST_F(Planned, StagesOfAReportAreThoseOfThePlan) {
  for (const ReadWay way : {ReadWay::host, ReadWay::device}) {
    const ReadPlan made = plan(way);
    const Report report = run(made);
    const Plan printed = made.summary();
    ASSERT_EQ(report.stages.size(), printed.stages.size());
    for (std::size_t i = 0; i < report.stages.size(); ++i) {
      EXPECT_EQ(report.stages[i].stage, printed.stages[i].stage);
      EXPECT_TRUE(report.stages[i].path.starts_with(printed.stages[i].path)) << report.stages[i].path;
      EXPECT_EQ(report.stages[i].reason, printed.stages[i].reason);
    }
    EXPECT_EQ(report.chunks, printed.chunks);
    EXPECT_EQ(report.decoded_bytes, printed.output_bytes);
  }
}

}  // namespace penstock
