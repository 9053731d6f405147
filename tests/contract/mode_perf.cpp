#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "contract/cases.hpp"
#include "contract/modes.hpp"

namespace penstock::contract {
namespace {

/// Median and spread of repeated timings.
struct Timing {
  double median_s, fastest_s, slowest_s;
};

template <class F>
Timing time_it(F&& work) {
  std::vector<double> seconds;
  double total = 0;
  while (seconds.size() < 5 || (total < 0.3 && seconds.size() < 1000)) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    total += seconds.back();
  }
  std::ranges::sort(seconds);
  return {seconds[seconds.size() / 2], seconds.front(), seconds.back()};
}

bool time_case(const Case& c, const ChunkSpec& chunk) {
  const auto chain = CodecChain::make(c.chain(chunk), chunk);
  if (!chain) {
    fmt::print("{:<28} not supported: {}\n", c.label, chain.error().message());
    return true;
  }
  const auto data = sample(chunk);
  std::vector<std::byte> out(data.size());
  Bytes encoded;
  ScratchBuffers scratch;
  bool ok = true;
  const Timing encode = time_it([&] { ok = ok && chain->encode(data, encoded, scratch).has_value(); });
  const Timing decode = time_it([&] { ok = ok && chain->decode(encoded, out, scratch, {}).has_value(); });
  if (!ok || (c.lossless(chunk.dtype) && out != data)) {
    fmt::print("{:<28} FAILED\n", c.label);
    return false;
  }
  const auto rate = [&](double seconds) { return static_cast<double>(data.size()) / seconds / 1e9; };
  fmt::print("{:<28} {:>6.2f} {:>8.2f} {:>7.2f} to {:<7.2f} {:>8.2f} {:>7.2f} to {:<7.2f}\n", c.label,
             static_cast<double>(data.size()) / static_cast<double>(encoded.size()), rate(decode.median_s),
             rate(decode.slowest_s), rate(decode.fastest_s), rate(encode.median_s), rate(encode.slowest_s),
             rate(encode.fastest_s));
  return true;
}

}  // namespace

int run_perf(std::string_view name) {
  const ChunkSpec chunk{{128, 128, 128}, DType::int16(), {}};
  fmt::print("one thread, a chunk of 128^3 int16 (4 MiB), GB/s of decoded bytes: median, slowest to fastest\n");
  fmt::print("{:<28} {:>6} {:>8} {:>18} {:>8}\n", "case", "ratio", "decode", "", "encode");
  bool ok = true;
  for (const Case& c : codec_cases())
    if (c.label.find(name) != std::string::npos) ok = time_case(c, chunk) && ok;
  return ok ? 0 : 1;
}

}  // namespace penstock::contract
