#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/config.hpp"
#include "core/settings.hpp"

using namespace penstock;

namespace {

/// Sets variables, and takes them away when the test ends.
class Settings : public ::testing::Test {
 protected:
  void SetUp() override { set("PENSTOCK_CONFIG", ""); }
  void TearDown() override {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
    std::filesystem::remove(file_);
  }
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  void config(const std::string& text) {
    std::ofstream(file_) << text;
    set("PENSTOCK_CONFIG", file_);
  }
  std::string file_ = ::testing::TempDir() + "penstock-config.json";

 private:
  std::vector<std::string> names_;
};

}  // namespace

TEST_F(Settings, EnvironmentIsCheckedAndItsOriginTold) {
  set("PENSTOCK_BUDGET", "4M");
  const auto bad = default_budget_bytes();
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message().find("PENSTOCK_BUDGET"), std::string::npos);
  set("PENSTOCK_BUDGET", "4MiB");
  EXPECT_EQ(default_budget_bytes().value(), 4u << 20);
  EXPECT_EQ(all_settings().value().front().origin, "environment");
  set("PENSTOCK_THREADS", "3");
  EXPECT_EQ(default_waiting_threads().value(), 3u);
  ::unsetenv("PENSTOCK_THREADS");
  EXPECT_GE(default_waiting_threads().value(), 8u);
  ::unsetenv("PENSTOCK_BUDGET");
  EXPECT_GT(default_budget_bytes().value(), 1u << 20);
  EXPECT_GE(default_threads().value(), 1u);
}

TEST_F(Settings, TheEnvironmentGoesBeforeTheFileAndTheFileBeforeWhatIsBuiltIn) {
  config(R"({"budget": "4MiB", "threads": 7})");
  EXPECT_EQ(default_budget_bytes().value(), 4u << 20);
  EXPECT_EQ(default_threads().value(), 7u);
  EXPECT_EQ(default_pinned_bytes().value(), 512u << 20);
  set("PENSTOCK_THREADS", "3");
  EXPECT_EQ(default_threads().value(), 3u);
  const auto settings = all_settings().value();
  EXPECT_EQ(settings[0].origin, file_);
  EXPECT_EQ(settings[1].origin, "environment");
  EXPECT_EQ(settings[2].origin, "built in");
}

TEST_F(Settings, AFileThatChangedIsReadAgain) {
  config(R"({"threads": 7})");
  EXPECT_EQ(default_threads().value(), 7u);
  config(R"({"threads": 11})");
  EXPECT_EQ(default_threads().value(), 11u);
  std::filesystem::remove(file_);
  EXPECT_EQ(default_threads().error().code(), ErrorCode::not_found);
}

TEST_F(Settings, AMistakeNamesFileAndSetting) {
  for (const char* text : {R"({"budget": "4M"})", R"({"budget": 0})", R"({"budget": null})", R"({"decode": "gpu"})",
                           R"({"threads": -1})", R"({"threads": 4097})", R"({"Budget": "4MiB"})", "[]", "{", ""}) {
    config(text);
    // Whatever setting is asked for, and whatever the environment says.
    set("PENSTOCK_PINNED", "1MiB");
    const auto result = default_pinned_bytes();
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument) << text;
    EXPECT_TRUE(result.error().message().starts_with(file_)) << result.error().message();
  }
  config(R"({"budget": "4M"})");
  EXPECT_NE(default_budget_bytes().error().message().find("budget: '4M'"), std::string::npos);
}
