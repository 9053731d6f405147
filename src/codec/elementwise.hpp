// Filters that make each unit of the output by itself (tier 1), over a batch of chunks.
//
// A filter is a struct that is passed to a kernel by value:
//   in_bytes(out_bytes) -> uint64_t      encoded size of a chunk with so many decoded bytes
//   units(out_bytes) -> uint64_t         how many units make up the output
//   operator()(in, out, out_bytes, i)    makes unit i
//   check(task, result)                  optional: may refuse a chunk of the right size
#pragma once
#include <cstdint>

#include "codec/device_decoder.hpp"
#include "codec/device_encoder.hpp"
#include "device/portable.hpp"

namespace penstock::elementwise {

/// What becomes of a chunk; units are made only when it is ok.
template <class Filter>
PENSTOCK_HD ChunkStatus check(const Filter& filter, const DecodeTask& task) {
  ChunkStatus result = check_size(task, filter.in_bytes(task.out_bytes));
  if constexpr (requires { filter.check(task, result); })
    if (result.status == DecodeStatus::ok) filter.check(task, result);
  return result;
}

/// Makes unit `i` of a chunk.
template <class Filter>
PENSTOCK_HD void make_unit(const Filter& filter, const DecodeTask& task, std::uint64_t i) {
  filter(assume_global(reinterpret_cast<const std::uint8_t*>(task.in)),
         assume_global(reinterpret_cast<std::uint8_t*>(task.out)), task.out_bytes, i);
}

/// On the calling thread.
template <class Filter>
void run_host(const Filter& filter, const DeviceBatch& batch) {
  for (std::uint32_t c = 0; c < batch.size.count; ++c) {
    batch.results[c] = check(filter, batch.tasks[c]);
    if (batch.results[c].status != DecodeStatus::ok) continue;
    const std::uint64_t units = filter.units(batch.tasks[c].out_bytes);
    for (std::uint64_t i = 0; i < units; ++i) make_unit(filter, batch.tasks[c], i);
  }
}

/// On a CUDA device (codec/elementwise.cuh).  Errors: as DeviceDecoder::decode.
template <class Filter>
Status run_cuda(const Filter& filter, const DeviceBatch& batch, const Stream& stream);

/// The decoder of a filter.
template <class Filter>
class Decoder final : public DeviceDecoder {
 public:
  Decoder(std::string_view name, const Filter& filter) : name_(name), filter_(filter) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return run_cuda(filter_, batch, stream);
    run_host(filter_, batch);
    return {};
  }

 private:
  std::string_view name_;
  Filter filter_;
};

/// A chunk that a filter encodes, which does not change its size; with a size that the filter cannot take, or without
/// room, the check fails.
PENSTOCK_HD DecodeTask encoding_task(const EncodeBatch& batch, std::uint32_t chunk) {
  const EncodeTask task = batch.tasks[chunk];
  const std::uint64_t n = batch.in_bytes[chunk];
  return {task.in, n <= task.room ? n : 0, task.out, n};
}

/// On a CUDA device (codec/elementwise.cuh).  Errors: as DeviceEncoder::encode.
template <class Filter>
Status encode_cuda(const Filter& filter, const EncodeBatch& batch, const Stream& stream);

/// The encoder of a filter that keeps the size.
template <class Filter>
class Encoder final : public DeviceEncoder {
 public:
  Encoder(std::string_view name, const Filter& filter) : name_(name), filter_(filter) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] EncodeSpeed speed() const override { return {0.01, 900, 4}; }
  [[nodiscard]] std::uint64_t max_bytes(std::uint64_t in_bytes) const override { return in_bytes; }
  [[nodiscard]] Status encode(const EncodeBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return encode_cuda(filter_, batch, stream);
    for (std::uint32_t c = 0; c < batch.count; ++c) {
      const DecodeTask task = encoding_task(batch, c);
      const bool ok = check(filter_, task).status == DecodeStatus::ok;
      batch.out_bytes[c] = ok ? task.out_bytes : kNotEncoded;
      for (std::uint64_t i = 0; ok && i < filter_.units(task.out_bytes); ++i) make_unit(filter_, task, i);
    }
    return {};
  }

 private:
  std::string_view name_;
  Filter filter_;
};

/// A codec whose encoded bytes are the decoded ones.
class Identity final : public DeviceDecoder {
 public:
  [[nodiscard]] std::string_view name() const override { return "identity"; }
  [[nodiscard]] bool is_identity() const override { return true; }
  [[nodiscard]] Status decode(const DeviceBatch&, ByteSpan, const Stream&) const override {
    return Error(ErrorCode::internal, "there is nothing to decode");
  }
};

}  // namespace penstock::elementwise
