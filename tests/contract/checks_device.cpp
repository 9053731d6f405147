#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/device_chain.hpp"
#include "contract/checks.hpp"

namespace penstock::contract {
namespace {

using Input = std::vector<std::byte>;

std::vector<Input> variants(const Bytes& encoded, bool flips) {
  const Input good(encoded.data(), encoded.data() + encoded.size());
  std::vector<Input> out = {good};
  const std::size_t step = good.size() / 300 + 1;  // every one of a small chunk
  for (std::size_t size = 0; size < good.size(); size += step)
    out.emplace_back(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
  out.push_back(good);
  out.back().push_back(std::byte{0x77});
  for (std::size_t bit = 0; flips && bit < good.size() * 8; ++bit) {
    out.push_back(good);
    out.back()[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
  out.push_back(good);
  return out;
}

/// One batch and what came of it.
struct Ran {
  ChainBatch batch;
  std::vector<std::byte> device;  // all of the device's memory, afterwards

  [[nodiscard]] ByteView decoded(std::uint32_t i, const std::byte* base, std::uint64_t size) const {
    return {device.data() + (batch.decoded(i) - base), size};
  }
};

Status run(const std::vector<Input>& inputs, Device device, Stream& stream, Buffer& memory,
           std::vector<std::byte>& host, Ran& ran) {
  if (device.type != Device::Type::cpu) {
    PENSTOCK_ASSIGN(stream, Stream::create(device));
  }
  PENSTOCK_ASSIGN(const auto pool, Memory::create(device, 0));
  for (const Input& input : inputs) ran.batch.add(input.size());
  PENSTOCK_ASSIGN(memory, pool->allocate(ran.batch.device_bytes(), 256, stream));
  host.assign(ran.batch.host_bytes() + 256, std::byte{0xEE});
  // 256-aligned, as slabs are.
  auto* const begin = host.data() + (256 - reinterpret_cast<std::uintptr_t>(host.data()) % 256) % 256;
  for (std::uint32_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].empty()) std::memcpy(begin + ran.batch.encoded_at(i), inputs[i].data(), inputs[i].size());
  PENSTOCK_TRY(ran.batch.run(begin, memory.data(), stream));
  ran.device.resize(memory.size());
  PENSTOCK_TRY(copy_async(ran.device.data(), {}, memory.data(), device, memory.size(), stream));
  return stream.synchronize();
}

}  // namespace

Check check_device(const Case& c, const ChunkSpec& chunk, bool flips, Device device) {
  Check check;
  const auto p = prepare(c, chunk, check);
  if (!p || check.outcome != Outcome::passed) return check;
  if (p->chain.sharding() != nullptr) return {Outcome::not_supported, "inner chunks are read one by one"};
  const auto chain = DeviceChain::make(p->chain);
  if (!chain) return {Outcome::not_supported, chain.error().message()};
  const std::vector<Input> inputs = variants(p->encoded, flips);
  Stream stream;
  Buffer memory;
  std::vector<std::byte> host;
  Ran ran{ChainBatch(*chain), {}};
  if (const Status s = run(inputs, device, stream, memory, host, ran); !s)
    return {Outcome::failed, s.error().message()};
  ScratchBuffers scratch;
  std::vector<std::byte> expected(p->data.size());
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    const auto say = [&](std::string_view text) {
      return Check{Outcome::failed, fmt::format("variant {}: {}", i, text)};
    };
    const Status cpu = p->chain.decode_to_layout(inputs[i], expected, scratch, {});
    const ChainBatch::Outcome got = ran.batch.outcome(i);
    if (i == 0 && got.needs_cpu) return {Outcome::not_supported, got.status.error().message()};
    if (got.needs_cpu) continue;  // the reader then asks the CPU
    if (!got.status) {
      if (got.status.error().code() == ErrorCode::internal) return say(got.status.error().message());
      // Stricter on purpose: than liblz4 about offset 0, than libzstd about reserved bits and streams not used up.
      const std::string& why = got.status.error().message();
      bool stricter = false;
      for (const char* text : {"has offset 0", "what its block needs", "header of a block is wrong"})
        stricter = stricter || why.find(text) != std::string::npos;
      if (cpu && !stricter) return say("only the device refuses it: " + got.status.error().message());
      continue;
    }
    if (!cpu) return say("only the CPU refuses it: " + cpu.error().message());
    if (!std::ranges::equal(ran.decoded(i, memory.data(), expected.size()), expected)) return say("other bytes");
  }
  return {};
}

}  // namespace penstock::contract
