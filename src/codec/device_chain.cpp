#include "codec/device_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/clear/clear.hpp"
#include "device/team.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kAlign = 256;
constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// So that nothing reads what a step left undone.
Status clear_refused_chunks(const DeviceBatch& batch, const Stream& stream) {
  if (stream.device().type != Device::Type::cpu) return clear_refused_cuda(batch, stream);
  for (std::uint32_t i = 0; i < batch.size.count; ++i) clear_refused(HostTeam<>(), batch.tasks[i], batch.results[i]);
  return {};
}

}  // namespace

Status DeviceChain::add(std::unique_ptr<DeviceDecoder> decoder, const Codec& codec,
                        std::optional<std::uint64_t> out_bytes) {
  const std::string name = codec.spec().name;
  if (!decoder) return Error(ErrorCode::unsupported, name + " has no device decoder");
  if (decoder->is_identity()) return {};
  Step step;
  step.wrapping = decoder->wrapping();
  if (!step.wrapping && !out_bytes)
    return Error(ErrorCode::unsupported, "the size of the data after " + name + " is not known in advance");
  step.out_bytes = out_bytes.value_or(0);
  step.codec = name;
  step.nvcomp_format = nvcomp::format_of(codec.spec());
  step.decoder = std::move(decoder);
  steps_.push_back(std::move(step));
  return {};
}

Result<DeviceChain> DeviceChain::make(const CodecChain& chain) {
  DeviceChain out;
  out.decoded_size_ = chain.decoded_size();
  const auto bytes_codecs = chain.bytes_codecs();
  for (std::size_t i = bytes_codecs.size(); i-- > 0;)
    PENSTOCK_TRY(out.add(bytes_codecs[i]->device_decoder(), *bytes_codecs[i], chain.exact_size_before(i)));
  // What remains to be done to the elements is left to placement where it only moves bytes.
  if (chain.is_plain()) return out;
  const auto filters = chain.array_codecs();
  const auto decoded_by = [&](std::size_t k) -> std::optional<std::uint64_t> {
    if (k == 0) return chain.decoded_size();
    auto size = filters[k - 1]->encoded().size_bytes();
    return size ? std::optional<std::uint64_t>(*size) : std::nullopt;
  };
  const ArrayToBytes& serializer = chain.array_to_bytes();
  if (!serializer.is_plain() || serializer.swaps_bytes())
    PENSTOCK_TRY(out.add(serializer.device_decoder(), serializer, decoded_by(filters.size())));
  for (std::size_t k = filters.size(); k-- > chain.layout_codecs();)
    PENSTOCK_TRY(out.add(filters[k]->device_decoder(), *filters[k], decoded_by(k)));
  return out;
}

std::size_t DeviceChain::hand_to_nvcomp(const std::shared_ptr<const nvcomp::Library>& library, const CodecCosts* costs,
                                        std::uint64_t chunks) {
  std::size_t handed = 0;
  std::uint64_t front = 0;  // bytes before the step's input in an aligned buffer
  for (Step& step : steps_) {
    const bool aligned_input = front % nvcomp::kInputAlign == 0;
    front = step.wrapping ? front + step.wrapping->front : 0;
    if (!step.nvcomp_format || !aligned_input) continue;
    if (costs != nullptr) {
      const auto seconds = [&](DecodedBy by) {
        return costs->seconds(step.decoder->name(), by, decoded_bytes(step), chunks);
      };
      const auto ours = seconds(DecodedBy::device), theirs = seconds(DecodedBy::nvcomp);
      if (!ours || !theirs || *theirs >= *ours) continue;
    }
    step.decoder = nvcomp::make_device_decoder(library, *step.nvcomp_format);
    step.by = DecodedBy::nvcomp;
    ++handed;
  }
  return handed;
}

std::string DeviceChain::text() const {
  std::string text;
  std::string_view maker;  // of the steps before
  for (const Step& step : steps_) {
    if (!text.empty()) text += step.decoder->implementation() == maker ? " + " : fmt::format(" ({}) + ", maker);
    text += step.decoder->name();
    maker = step.decoder->implementation();
  }
  return text.empty() ? "nothing to decode" : fmt::format("{} ({})", text, maker);
}

std::uint64_t DeviceChain::decoded_bytes(const Step& step) const {
  return step.wrapping ? decoded_size_ : step.out_bytes;
}

Result<double> DeviceChain::device_seconds(const CodecCosts& costs, std::uint64_t chunks) const {
  double seconds = 0;
  for (const Step& step : steps_) {
    PENSTOCK_ASSIGN(const double more, costs.seconds(step.decoder->name(), step.by, decoded_bytes(step), chunks));
    seconds += more;
  }
  return seconds;
}

Result<double> DeviceChain::cpu_seconds(const CodecCosts& costs, std::uint64_t chunks, std::uint64_t cores) const {
  double seconds = 0;
  const auto each_core =
      static_cast<double>(chunks) / static_cast<double>(std::max<std::uint64_t>(1, std::min(chunks, cores)));
  for (const Step& step : steps_) {
    PENSTOCK_ASSIGN(const double one, costs.seconds(step.decoder->name(), DecodedBy::core, decoded_bytes(step), 1));
    seconds += one * each_core;
  }
  return seconds;
}

void ChainBatch::add_at(const std::byte* encoded, std::uint64_t encoded_bytes) {
  offsets_.push_back(encoded_end_);
  encoded_.push_back(encoded_bytes);
  elsewhere_.push_back(encoded);
  encoded_total_ += aligned(encoded_bytes);
  if (encoded == nullptr) encoded_end_ += aligned(encoded_bytes);
}

// Both memories begin with the results and the tasks of every step, and the encoded chunks follow, so that one copy
// brings all of it up.  In device memory the buffers and the scratch come after that.

std::uint64_t ChainBatch::results_bytes() const {
  return aligned(encoded_.size() * chain_->steps_.size() * sizeof(ChunkStatus));
}

std::uint64_t ChainBatch::words_bytes() const {
  return results_bytes() + aligned(encoded_.size() * chain_->steps_.size() * sizeof(DecodeTask));
}

std::array<std::uint64_t, 2> ChainBatch::buffer_strides() const {
  std::array<std::uint64_t, 2> strides{};
  std::size_t which = 0;  // the last step writes into the first buffer
  for (auto step = chain_->steps_.rbegin(); step != chain_->steps_.rend(); ++step) {
    if (step->wrapping) continue;
    strides[which] = std::max(strides[which], aligned(step->out_bytes));
    which = 1 - which;
  }
  return strides;
}

BatchSize ChainBatch::batch_size(const Step& step) const {
  if (step.wrapping) return {size(), encoded_total_, chain_->decoded_size_};
  return {size(), size() * step.out_bytes, step.out_bytes};
}

std::uint64_t ChainBatch::scratch_bytes() const {
  std::uint64_t bytes = 0;
  for (const Step& step : chain_->steps_) bytes = std::max(bytes, step.decoder->scratch_bytes(batch_size(step)));
  return aligned(bytes);
}

std::uint64_t ChainBatch::host_bytes() const { return words_bytes() + encoded_end_; }

std::uint64_t ChainBatch::device_bytes() const {
  const auto strides = buffer_strides();
  return host_bytes() + size() * (strides[0] + strides[1]) + scratch_bytes();
}

void ChainBatch::write_words(std::byte* host, std::byte* device) {
  device_ = device;
  const auto strides = buffer_strides();
  const std::uint32_t count = size();
  std::byte* const buffers[2] = {device + host_bytes(), device + host_bytes() + count * strides[0]};
  std::size_t writers = 0;
  for (const Step& step : chain_->steps_) writers += step.wrapping ? 0 : 1;
  std::memset(host, 0, words_bytes());
  auto* tasks = reinterpret_cast<DecodeTask*>(host + results_bytes());
  auto* results = reinterpret_cast<ChunkStatus*>(host);
  decoded_.resize(count);
  decoded_bytes_.resize(count);
  for (std::uint32_t chunk = 0; chunk < count; ++chunk) {
    const std::byte* const encoded = elsewhere_[chunk] != nullptr ? elsewhere_[chunk] : device + encoded_at(chunk);
    DecodeTask at{encoded, encoded_[chunk], nullptr, 0};
    std::size_t to_come = writers;
    for (std::size_t s = 0; s < chain_->steps_.size(); ++s) {
      const Step& step = chain_->steps_[s];
      if (step.wrapping) {
        const std::uint64_t around = std::uint64_t{step.wrapping->front} + step.wrapping->back;
        at.out_bytes = at.in_bytes < around ? 0 : at.in_bytes - around;
        // Later steps count on the size: a chunk without it is refused by this one as truncated.
        if (step.out_bytes != 0 && at.out_bytes != step.out_bytes) at.in_bytes = at.out_bytes = 0;
        at.out = const_cast<std::byte*>(at.in) + std::min<std::uint64_t>(at.in_bytes, step.wrapping->front);
      } else {
        const std::size_t which = --to_come % 2;
        at.out = buffers[which] + chunk * strides[which];
        at.out_bytes = step.out_bytes;
      }
      tasks[s * count + chunk] = at;
      results[s * count + chunk] = ChunkStatus{};
      at.in = at.out;
      at.in_bytes = at.out_bytes;
    }
    decoded_[chunk] = at.in;
    decoded_bytes_[chunk] = at.in_bytes;
  }
}

Status ChainBatch::run(std::byte* host, std::byte* device, const Stream& stream) {
  if (size() == 0) return {};
  write_words(host, device);
  take_results(host);
  PENSTOCK_TRY(copy_async(device, stream.device(), host, {}, host_bytes(), stream));
  PENSTOCK_TRY(decode(stream));
  return copy_async(host, {}, device, stream.device(), results_bytes(), stream);
}

Status ChainBatch::decode(const Stream& stream) const {
  const auto* tasks = reinterpret_cast<const DecodeTask*>(device_ + results_bytes());
  auto* results = reinterpret_cast<ChunkStatus*>(device_);
  const std::uint64_t scratch_size = scratch_bytes();
  const ByteSpan scratch(device_ + device_bytes() - scratch_size, scratch_size);
  for (std::size_t s = 0; s < chain_->steps_.size(); ++s) {
    const Step& step = chain_->steps_[s];
    const std::uint64_t first = s * size();
    const DeviceBatch batch{tasks + first, results + first, batch_size(step)};
    PENSTOCK_TRY_IN(step.decoder->decode(batch, scratch, stream), "codec " + step.codec);
    if (!step.wrapping) PENSTOCK_TRY(clear_refused_chunks(batch, stream));
  }
  return {};
}

ChainBatch::Outcome ChainBatch::outcome(std::uint32_t chunk) const {
  for (std::size_t s = 0; s < chain_->steps_.size(); ++s) {
    const ChunkStatus& result = results_[s * size() + chunk];
    if (result.status == DecodeStatus::ok) continue;
    return {to_status(result, chain_->steps_[s].codec), needs_cpu(result.status)};
  }
  // Of a chain that leaves the bytes where they are.
  if (decoded_bytes_[chunk] != chain_->decoded_size_)
    return {Error(ErrorCode::corrupt_data,
                  fmt::format("{} bytes expected, {} found", chain_->decoded_size_, decoded_bytes_[chunk]))};
  return {};
}

}  // namespace penstock
