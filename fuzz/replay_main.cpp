// Runs a fuzz target without libFuzzer: over each seed of a folder (or each file given), over the seed cut at every
// byte, and with one bit flipped in every byte.  Fails when there is no seed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;
using Input = std::vector<std::uint8_t>;

// Seeds are small; of a larger one only so many bytes are damaged, spread evenly.
constexpr std::size_t kMaxDamages = 4096;

std::vector<fs::path> files_of(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argv[i]))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A copy of exactly its size, so that AddressSanitizer sees one byte beyond.
void run(const std::uint8_t* data, std::size_t size) {
  const Input exact(data, data + size);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

std::size_t run_with_damages(Input seed) {
  run(seed.data(), seed.size());
  const std::size_t step = std::max<std::size_t>(1, seed.size() / kMaxDamages);
  std::size_t runs = 1;
  for (std::size_t at = 0; at < seed.size(); at += step) {
    run(seed.data(), at);
    const auto bit = static_cast<std::uint8_t>(1u << (at % 8));
    seed[at] ^= bit;
    run(seed.data(), seed.size());
    seed[at] ^= bit;
    runs += 2;
  }
  return runs;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<fs::path> files = files_of(argc, argv);
  std::size_t runs = 0;
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "cannot read %s\n", file.c_str());
      return 1;
    }
    runs += run_with_damages(Input(std::istreambuf_iterator<char>(in), {}));
  }
  std::printf("%zu seeds, %zu runs\n", files.size(), runs);
  return files.empty() ? 1 : 0;
}
