// Every kind of store, made empty and writable, for tests that run the same body on each.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "penstock/store.hpp"
#ifdef PENSTOCK_SERVERS
#include "servers/server.hpp"
#endif

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
  bool keeps_old_versions = true;  ///< S3: an object that was replaced is gone
  bool keys_are_bytes = true;      ///< S3: they are text in UTF-8
  bool answers_later = false;      ///< S3: from a thread of its own, when it likes
};

inline void PrintTo(const StoreCase& one, std::ostream* out) { *out << one.name; }

inline std::vector<StoreCase> store_cases() {
  return {
      {"file", [](const TemporaryDirectory& scratch) { return scratch / "store"; }},
      {"memory", [](const TemporaryDirectory& scratch) { return "memory://" + scratch.path().filename().string(); }},
      {"zip", [](const TemporaryDirectory& scratch) { return scratch / "store.zip"; }},
#ifdef PENSTOCK_SERVERS  // of a test program that may start servers
      {"s3",
       [](const TemporaryDirectory& scratch) {
         ::setenv("AWS_ENDPOINT_URL", versitygw().url().c_str(), 1);
         ::setenv("AWS_ACCESS_KEY_ID", "testkey", 1);
         ::setenv("AWS_SECRET_ACCESS_KEY", "testsecret", 1);
         return "s3://penstock/" + scratch.path().filename().string();
       },
       false, false, true},
#endif
  };
}

/// Those that answer in the thread that asks.
inline std::vector<StoreCase> blocking_store_cases() {
  std::vector<StoreCase> cases = store_cases();
  std::erase_if(cases, [](const StoreCase& one) { return one.answers_later; });
  return cases;
}

inline std::string case_name(const testing::TestParamInfo<StoreCase>& info) { return info.param.name; }

}  // namespace penstock::test
