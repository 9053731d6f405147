// Files for tests: bytes that tell their place, and a buffer of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace penstock::test {

using Block = std::vector<std::byte>;

/// No two stretches of a few bytes are alike.
inline Block pattern(std::uint64_t bytes, std::uint64_t seed = 1) {
  Block block(bytes);
  std::uint64_t x = seed;
  for (std::byte& byte : block) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(x >> 56U);
  }
  return block;
}

inline void put_file(const std::string& path, const Block& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline Block get_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Block block(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) block[i] = static_cast<std::byte>(text[i]);
  return block;
}

inline Block part(const Block& all, std::uint64_t from, std::uint64_t count) {
  return {all.begin() + static_cast<std::ptrdiff_t>(from), all.begin() + static_cast<std::ptrdiff_t>(from + count)};
}

/// Below the working directory: a real disk more often than /tmp is.
struct ScratchFolder {
  ScratchFolder() {
    std::string name = (std::filesystem::current_path() / "io-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

}  // namespace penstock::test
