// Every kind of store, made empty and writable, for tests that run the same body on each.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "penstock/store.hpp"

namespace penstock::test {

/// A directory that is removed with its owner.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    static std::atomic<int> counter{0};
    path_ = std::filesystem::temp_directory_path() /
            ("penstock-test-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
    std::filesystem::create_directories(path_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

struct StoreCase {
  std::string name;
  /// URL of a store that does not exist yet, with what it needs in `scratch`.
  std::function<std::string(const TemporaryDirectory& scratch)> url;
};

inline void PrintTo(const StoreCase& one, std::ostream* out) { *out << one.name; }

inline std::vector<StoreCase> store_cases() {
  return {
      {"file", [](const TemporaryDirectory& scratch) { return scratch / "store"; }},
      {"memory", [](const TemporaryDirectory& scratch) { return "memory://" + scratch.path().filename().string(); }},
      {"zip", [](const TemporaryDirectory& scratch) { return scratch / "store.zip"; }},
  };
}

inline std::string case_name(const testing::TestParamInfo<StoreCase>& info) { return info.param.name; }

}  // namespace penstock::test
