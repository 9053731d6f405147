// Files under tests/golden.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace penstock::test {

inline std::filesystem::path golden_path(const std::string& below) {
  return std::filesystem::path(PENSTOCK_GOLDEN) / below;
}

/// Content of a golden file; a missing one fails the test.
inline std::string golden(const std::string& below) {
  std::ifstream file(golden_path(below), std::ios::binary);
  EXPECT_TRUE(file.is_open()) << golden_path(below);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace penstock::test
