// Runs the zstd decoder for devices on the host, with every executor, and libzstd beside it.
#pragma once
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "codec/scratch_memory.hpp"
#include "codec/zstd/decode/on_host.hpp"
#include "device/teams.hpp"

namespace penstock::zstd::test {

using Data = std::vector<std::uint8_t>;

/// Bytes in an allocation of exactly their number, so that a sanitizer sees one too many, `shift` bytes behind a
/// multiple of 16.
class Exact {
 public:
  explicit Exact(std::size_t size, std::size_t shift = 0) : shift_(shift), data_(new std::uint8_t[size + shift]) {}
  Exact(const Data& from, std::size_t shift) : Exact(from.size(), shift) {
    std::copy(from.begin(), from.end(), data());
  }
  [[nodiscard]] std::uint8_t* data() const { return data_.get() + shift_; }

 private:
  std::size_t shift_;
  std::unique_ptr<std::uint8_t[]> data_;
};

/// One chunk to decode.
struct Item {
  Data in;
  std::uint64_t out_bytes = 0;
  std::size_t in_shift = 0, out_shift = 0;
};

/// What became of it.
struct Outcome {
  ChunkStatus status;
  Data out;
  [[nodiscard]] bool ok() const { return status.status == DecodeStatus::ok; }
};

inline bool same(const Outcome& a, const Outcome& b) {
  return a.status.status == b.status.status && a.status.position == b.status.position &&
         a.status.output_bytes == b.status.output_bytes && (!a.ok() || a.out == b.out);
}

/// Decodes a batch.  `run(batch, scratch)` does it; `scratch_size`: 0 for the usual.
template <class Run>
std::vector<Outcome> decode_batch(const std::vector<Item>& items, std::uint64_t scratch_size, Run run) {
  std::vector<Exact> in, out;
  std::vector<DecodeTask> tasks;
  std::vector<ChunkStatus> results(items.size());
  Batch batch;
  for (const Item& item : items) {
    in.emplace_back(item.in, item.in_shift);
    out.emplace_back(item.out_bytes, item.out_shift);
    std::fill_n(out.back().data(), item.out_bytes, std::uint8_t{0xEE});
    tasks.push_back({reinterpret_cast<const std::byte*>(in.back().data()), item.in.size(),
                     reinterpret_cast<std::byte*>(out.back().data()), item.out_bytes});
    batch.decoded_bytes += item.out_bytes;
    batch.largest_bytes = std::max(batch.largest_bytes, item.out_bytes);
  }
  batch.tasks = tasks.data();
  batch.results = results.data();
  batch.count = static_cast<std::uint32_t>(items.size());
  if (scratch_size == 0) scratch_size = scratch_bytes(batch.count, batch.decoded_bytes, batch.largest_bytes);
  run(batch, penstock::test::scratch_of(scratch_size)).value();
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < items.size(); ++i)
    outcomes.push_back({results[i], Data(out[i].data(), out[i].data() + items[i].out_bytes)});
  return outcomes;
}

/// In order.
inline auto in_order() {
  return [](const Batch& batch, std::span<std::byte> scratch) {
    return decode_on_host(HostShape<8, 8, 1024>(), HostTeam<32>(), HostTeam<64>(), batch, scratch);
  };
}
/// Scattered, other shapes: more lanes, or larger tiles.
inline auto scattered(std::uint32_t seed) {
  return [seed](const Batch& batch, std::span<std::byte> scratch) {
    if (seed % 3 == 0)
      return decode_on_host(HostShape<1, 1, 1024>(), PermTeam<32>(seed), PermTeam<128>(seed), batch, scratch);
    return decode_on_host(HostShape<4, 2, 16384>(), PermTeam<32>(seed), PermTeam<64>(seed), batch, scratch);
  };
}

inline Outcome decode_one(const Data& in, std::uint64_t out_bytes, std::size_t shift = 0) {
  return decode_batch({{in, out_bytes, shift, shift}}, 0, in_order())[0];
}

/// What libzstd makes of it; empty when it refuses.
struct Reference {
  bool ok = false;
  Data out;
};
inline Reference libzstd(const Data& in, std::uint64_t out_bytes) {
  Data out(out_bytes + 1);
  const std::size_t made = ZSTD_decompress(out.data(), out_bytes, in.data(), in.size());
  if (ZSTD_isError(made) || in.empty()) return {};
  out.resize(made);
  return {true, out};
}

/// Whether we may refuse what libzstd accepts: where the format says so (docs/concepts/decoding.md has the list), and
/// chunks for the CPU.
inline bool may_be_stricter(const ChunkStatus& status, const Data& in) {
  switch (status.status) {
    case DecodeStatus::bad_block:   // block sizes and reserved bits, which libzstd looks at only in streams
    case DecodeStatus::bad_stream:  // streams that are not used up exactly
    case DecodeStatus::bad_table:   // Huffman codes of 12 bits
    case DecodeStatus::bad_offset:  // offset 0, from a repeated offset of 1
      return true;
    case DecodeStatus::bad_magic: {  // formats from before 1.0
      const auto at = static_cast<std::size_t>(status.position);
      return at + 4 <= in.size() && in[at] >= 0x22 && in[at] <= 0x27 && in[at + 1] == 0xB5 && in[at + 2] == 0x2F &&
             in[at + 3] == 0xFD;
    }
    default: return needs_cpu(status.status);
  }
}

/// How two decoders went on with the same bytes.
enum class Verdict { same_bytes, both_refuse, stricter, wrong };

/// Our decoder, in order and scattered, against libzstd.
inline Verdict compare(const Data& in, std::uint64_t out_bytes, std::uint32_t seed) {
  const std::vector<Item> items = {{in, out_bytes, seed % 16, seed / 16 % 16}};
  const Outcome ordered = decode_batch(items, 0, in_order())[0];
  if (!same(ordered, decode_batch(items, 0, scattered(seed))[0])) return Verdict::wrong;
  if (ordered.status.position > in.size()) return Verdict::wrong;
  const Reference reference = libzstd(in, out_bytes);
  const bool whole = reference.ok && reference.out.size() == out_bytes;
  if (ordered.ok()) return whole && reference.out == ordered.out ? Verdict::same_bytes : Verdict::wrong;
  if (!whole) return Verdict::both_refuse;
  return may_be_stricter(ordered.status, in) ? Verdict::stricter : Verdict::wrong;
}

}  // namespace penstock::zstd::test
