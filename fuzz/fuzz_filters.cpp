// Filters and checksums as chains for devices, run on the host, against the CPU's codecs; what goes over a Team also in
// scattered order; and the encoders, which make the CPU's bytes.
// Input: a byte that chooses the chain, one that chooses how the rest becomes a chunk: as it is, repeated up to the
// encoded size, or encoded and damaged (a byte of the number of damages, and they: fuzz.hpp).
#include <algorithm>
#include <cstring>
#include <string>

#include "codec/checksum/sums.hpp"
#include "codec/delta/sums.hpp"
#include "codec/device_chain.hpp"
#include "codec/encode_chain.hpp"
#include "device/encoding.hpp"
#include "device/teams.hpp"
#include "fuzz.hpp"

using namespace penstock;
using namespace penstock::fuzz;

namespace {

using Scattered = ChunkStatus (*)(const DecodeTask& task, std::uint32_t seed);

template <checksum::Sum kSum, std::uint32_t kFront>
ChunkStatus scattered_sum(const DecodeTask& task, std::uint32_t seed) {
  static constexpr checksum::Kind kKind(kSum);
  checksum::Shared shared;
  return checksum::check_chunk(PermTeam<128>(seed), task, kKind, kFront, shared);
}
/// Of numbers of so many bytes, signed, stored as such of so many.
template <std::uint8_t kDecoded, std::uint8_t kStored>
ChunkStatus scattered_delta(const DecodeTask& task, std::uint32_t seed) {
  delta::Shared<64> shared;
  return delta::decode_chunk(PermTeam<64>(seed), task, {kStored, true, false}, {kDecoded, true, false}, shared);
}

struct Row {
  DType dtype;
  std::vector<CodecSpec> codecs;
  Scattered scattered = nullptr;
};

CodecSpec bytes(const char* endian = "little") { return {"bytes", R"({"endian":")" + std::string(endian) + "\"}"}; }
CodecSpec shuffle(int size) { return {"numcodecs.shuffle", R"({"elementsize":)" + std::to_string(size) + "}"}; }

std::vector<Row> rows() {
  using checksum::Sum;
  const CodecSpec little = bytes();
  std::vector<Row> out = {
      {DType::int16(), {little, {"crc32c", "{}"}}, scattered_sum<Sum::crc32c, 0>},
      {DType::int16(), {little, {"numcodecs.crc32", "{}"}}, scattered_sum<Sum::crc32, 4>},
      {DType::int16(), {little, {"numcodecs.crc32", R"({"location":"end"})"}}, scattered_sum<Sum::crc32, 0>},
      {DType::int16(), {little, {"numcodecs.adler32", "{}"}}, scattered_sum<Sum::adler32, 4>},
      {DType::uint8(), {little, {"numcodecs.fletcher32", "{}"}}, scattered_sum<Sum::fletcher32, 0>},
      {DType::int16(), {{"numcodecs.delta", "{}"}, little}, scattered_delta<2, 2>},
      {DType::int32(), {{"numcodecs.delta", R"({"astype":"<i2"})"}, little}, scattered_delta<4, 2>},
      {DType::int64(), {{"numcodecs.delta", R"({"astype":"<i1"})"}, little}, scattered_delta<8, 1>},
      {DType::uint16(), {{"numcodecs.delta", "{}"}, bytes("big"), {"crc32c", "{}"}}},
      {DType::float32(), {{"numcodecs.delta", "{}"}, little}},
      {DType::float64(), {{"numcodecs.delta", R"({"astype":"<f4"})"}, little}},
      {DType::float32(), {{"numcodecs.fixedscaleoffset", R"({"offset":2,"scale":4,"astype":"<i2"})"}, little}},
      {DType::float64(), {{"numcodecs.fixedscaleoffset", R"({"offset":-1.5,"scale":0.1})"}, little}},
      {DType::float32(), {{"numcodecs.quantize", R"({"digits":3})"}, little}},
      {DType::float64(), {{"numcodecs.quantize", R"({"digits":3,"astype":"<f4"})"}, little}},
      {DType::float32(), {{"bitround", R"({"keepbits":7})"}, little}},
      {DType::int32(), {{"numcodecs.astype", R"({"encode_dtype":"<i2"})"}, little}},
      {DType::float32(), {{"numcodecs.astype", R"({"encode_dtype":"<u2"})"}, little}},
      {DType::float64(), {{"numcodecs.astype", R"({"encode_dtype":"<f4"})"}, little}},
      {DType::boolean(), {{"numcodecs.packbits", "{}"}, little}},
      {DType::boolean(), {{"packbits", "{}"}}},
      {DType::boolean(), {{"packbits", R"({"padding_encoding":"first_byte"})"}}},
      {DType::int32(), {{"packbits", R"({"padding_encoding":"last_byte","first_bit":1,"last_bit":5})"}}},
      {DType::int64(), {{"packbits", R"({"padding_encoding":"first_byte","first_bit":3,"last_bit":62})"}}},
  };
  for (const int size : {1, 2, 3, 4, 8}) out.push_back({DType::uint8(), {little, shuffle(size)}});
  out.push_back({DType::uint16(), {little, shuffle(2), {"numcodecs.lz4", "{}"}, {"crc32c", "{}"}}});
  out.push_back({DType::uint16(), {little, {"crc32c", "{}"}, {"zstd", R"({"checksum":true})"}}});
  return out;
}

/// A chain for chunks of one size, on the CPU and on devices.
struct Chain {
  CodecChain cpu;
  std::optional<DeviceChain> decoders;
  std::optional<EncodeChain> encoders;
  Scattered scattered;
  std::size_t encoded_bytes;  ///< of zeros
};

std::vector<Chain> make_chains() {
  std::vector<Chain> chains;
  for (const Row& row : rows())
    for (const std::uint64_t count : {1, 37, 600}) {
      const std::uint64_t elements = count * (row.dtype.size_bytes == 1 ? 24 : 1);  // whole elements for every shuffle
      auto cpu = CodecChain::make(row.codecs, {{elements}, row.dtype, {}});
      demand(cpu.has_value());
      Chain chain{*std::move(cpu), {}, {}, row.scattered, 0};
      if (auto made = DeviceChain::make(chain.cpu)) chain.decoders = *std::move(made);
      if (auto made = EncodeChain::make(chain.cpu)) chain.encoders = *std::move(made);
      const std::vector<std::byte> zeros(chain.cpu.decoded_size(), std::byte{0});
      ScratchBuffers scratch;
      Bytes encoded;
      demand(chain.cpu.encode(zeros, encoded, scratch).has_value());
      chain.encoded_bytes = encoded.size();
      if (chain.decoders) chains.push_back(std::move(chain));
    }
  demand(chains.size() > 60);
  return chains;
}

Data repeated(const std::uint8_t* data, std::size_t size, std::size_t wanted) {
  Data out(wanted);
  for (std::size_t i = 0; i < wanted && size > 0; ++i) out[i] = static_cast<std::uint8_t>(data[i % size] + i / size);
  return out;
}

ByteView view(const Data& data) { return {reinterpret_cast<const std::byte*>(data.data()), data.size()}; }

/// What the CPU makes of a chunk, which must be what the encoders for devices make.
Data encode(const Chain& chain, const Data& raw) {
  ScratchBuffers scratch;
  Bytes by_cpu;
  demand(chain.cpu.encode(view(raw), by_cpu, scratch).has_value());
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(by_cpu.data());
  Data encoded(begin, begin + by_cpu.size());
  if (!chain.encoders) return encoded;
  EncodeRun run(*chain.encoders, 1);
  const test::ExactBytes host = test::exact_bytes(run.host_bytes());
  demand(run.begin(host.get(), scratch_of(run.device_bytes()).data(), raw.size(), {}).has_value());
  std::memcpy(run.raw(0), raw.data(), raw.size());
  demand(run.encode({}).has_value());
  const auto* const made = reinterpret_cast<const std::uint8_t*>(run.encoded(0));
  const Data by_device(made, made + run.encoded_bytes(0).value());
  if (!chain.encoders->compresses()) demand(by_device == encoded);
  return by_device;
}

void decode(const Chain& chain, const Data& in) {
  Data expected(chain.cpu.decoded_size());
  ScratchBuffers scratch;
  const bool cpu =
      chain.cpu
          .decode_to_layout(view(in), {reinterpret_cast<std::byte*>(expected.data()), expected.size()}, scratch, {})
          .has_value();
  ChainBatch batch(*chain.decoders);
  batch.add(in.size());
  const test::ExactBytes host = test::exact_bytes(batch.host_bytes());
  if (!in.empty()) std::memcpy(host.get() + batch.encoded_at(0), in.data(), in.size());
  demand(batch.run(host.get(), scratch_of(batch.device_bytes()).data(), {}).has_value());
  const ChainBatch::Outcome outcome = batch.outcome(0);
  if (outcome.needs_cpu) return;
  // libzstd is looser about what it does not need (docs/concepts/decoding.md); nothing else is.
  demand(outcome.status.has_value() == cpu || (cpu && chain.cpu.text().find("zstd") != std::string::npos));
  if (outcome.status) demand(std::memcmp(batch.decoded(0), expected.data(), expected.size()) == 0);
  if (chain.scattered == nullptr) return;
  Data out(expected.size());
  const ChunkStatus status = chain.scattered(task_of(in, out), static_cast<std::uint32_t>(in.size()));
  const bool sized = chain.cpu.array_codecs().empty() ? in.size() == chain.encoded_bytes : true;
  if (sized) demand((status.status == DecodeStatus::ok) == cpu);
  if (cpu && !chain.cpu.array_codecs().empty()) demand(out == expected);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Chain> chains = make_chains();
  if (size < 3) return 0;
  const Chain& chain = chains[data[0] % chains.size()];
  switch (data[1] % 4) {
    case 0: decode(chain, Data(data + 2, data + size)); break;
    case 1: decode(chain, repeated(data + 2, size - 2, chain.encoded_bytes)); break;
    default: {
      const std::uint32_t damages = data[2] % 4;
      const std::size_t begin = 3 + std::size_t{damages} * 3;
      if (size < begin) return 0;
      Data raw = repeated(data + begin, size - begin, chain.cpu.decoded_size());
      if (chain.cpu.decoded().dtype.kind == Kind::boolean)
        for (auto& x : raw) x &= 1;
      Data encoded = encode(chain, raw);
      damage(encoded, data + 3, damages);
      decode(chain, encoded);
    }
  }
  return 0;
}
