// A folder for one test, and calls of steps in it.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "penstock/oct.hpp"

namespace penstock::oct_test {

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("penstock_oct_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  std::filesystem::path path_;
};

inline Result<OctResult> run(const std::string& step, std::vector<std::string> paths,
                             std::map<std::string, std::string> options = {}, bool force = false,
                             const Options& how = {}) {
  return run_oct({step, std::move(paths), std::move(options), {}, force}, how);
}

/// A made subject of the smallest size.
inline void simulate(const Folder& folder, const std::string& seed, std::map<std::string, std::string> more = {}) {
  more["seed"] = seed;
  const auto done = run("simulate", {folder / "subject"}, more);
  ASSERT_TRUE(done) << done.error().message();
}
inline std::map<std::string, std::string> settings(const Folder& folder) {
  return {{"resolution_um", "10"},
          {"axial_resolution_um", "10"},
          {"slicing_interval_mm", "0.24"},
          {"depth_um", "520"},
          {"shifts", folder / "subject/raw/shifts_xy.csv"}};
}

}  // namespace penstock::oct_test
