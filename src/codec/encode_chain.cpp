#include "codec/encode_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

constexpr std::uint64_t kAlign = 256;
constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// Launching a step and waiting for its slowest part, in seconds.
constexpr double kStepSeconds = 30e-6;

}  // namespace

Result<EncodeChain> EncodeChain::make(const CodecChain& chain) {
  EncodeChain out;
  out.raw_bytes_ = chain.decoded_size();
  if (!chain.is_plain()) {
    for (const auto& filter : chain.array_codecs())
      if (filter->permutation().empty())
        return Error(ErrorCode::unsupported, filter->spec().name + " has no device encoder");
    return Error(ErrorCode::unsupported, chain.array_to_bytes().spec().name + " has no device encoder");
  }
  std::uint64_t bytes = out.raw_bytes_;
  for (const auto& codec : chain.bytes_codecs()) {
    Step step;
    step.codec = codec->spec().name;
    step.encoder = codec->device_encoder();
    if (!step.encoder) return Error(ErrorCode::unsupported, step.codec + " has no device encoder");
    step.in_bytes = bytes;
    step.max_bytes = bytes = step.encoder->max_bytes(bytes);
    out.steps_.push_back(std::move(step));
  }
  return out;
}

std::string EncodeChain::text() const {
  std::string text;
  for (const Step& step : steps_) text += (text.empty() ? "" : " + ") + std::string(step.encoder->name());
  return text.empty() ? "nothing to encode" : text;
}

bool EncodeChain::compresses() const {
  return std::ranges::any_of(steps_, [](const Step& step) { return step.encoder->compresses(); });
}

double EncodeChain::device_seconds(std::uint64_t chunks) const {
  double seconds = 0;
  for (const Step& step : steps_) {
    const EncodeSpeed speed = step.encoder->speed();
    const auto each = static_cast<double>(step.in_bytes);
    seconds += kStepSeconds + 1e-9 * std::max(each * speed.one_chunk_ns_per_byte,
                                              each * static_cast<double>(chunks) / speed.device_bytes_per_ns);
  }
  return seconds;
}

double EncodeChain::cpu_seconds(std::uint64_t chunks, std::uint64_t cores) const {
  double seconds = 0;
  const double most = static_cast<double>(std::max<std::uint64_t>(1, std::min(chunks, cores)));
  for (const Step& step : steps_)
    seconds += 1e-9 * static_cast<double>(step.in_bytes) * static_cast<double>(chunks) /
               (step.encoder->speed().core_bytes_per_ns * most);
  return seconds;
}

// Host memory: the sizes before every step and behind the last, then the tasks of every step.  Device memory begins
// with the same; the two buffers and the scratch follow.

std::uint64_t EncodeRun::sizes_bytes() const { return aligned((steps() + 1) * count_ * sizeof(std::uint64_t)); }

std::uint64_t EncodeRun::words_bytes() const { return sizes_bytes() + aligned(steps() * count_ * sizeof(EncodeTask)); }

std::uint64_t EncodeRun::host_bytes() const { return words_bytes(); }

std::array<std::uint64_t, 2> EncodeRun::strides() const {
  // What is encoded in the end fits into both: it is packed from one into the other.
  std::array<std::uint64_t, 2> strides{aligned(chain_->max_bytes()), aligned(chain_->max_bytes())};
  strides[0] = std::max(strides[0], aligned(chain_->raw_bytes()));
  for (std::size_t s = 0; s < steps(); ++s)
    strides[(s + 1) % 2] = std::max(strides[(s + 1) % 2], aligned(chain_->steps_[s].max_bytes));
  return strides;
}

std::uint64_t EncodeRun::scratch_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& step : chain_->steps_) bytes = std::max(bytes, step.encoder->scratch_bytes(count_, step.in_bytes));
  return aligned(bytes);
}

std::uint64_t EncodeRun::device_bytes() const {
  const auto each = strides();
  return words_bytes() + count_ * (each[0] + each[1]) + scratch_bytes();
}

std::byte* EncodeRun::buffer(std::size_t which) const {
  return device_ + words_bytes() + (which == 0 ? 0 : count_ * strides()[0]);
}

std::byte* EncodeRun::raw(std::uint32_t chunk) const { return buffer(0) + chunk * strides()[0]; }

const std::byte* EncodeRun::encoded(std::uint32_t chunk) const {
  return buffer(steps() % 2) + chunk * strides()[steps() % 2];
}

std::byte* EncodeRun::free_memory() const { return buffer(1 - steps() % 2); }

Status EncodeRun::begin(std::byte* host, std::byte* device, std::uint64_t raw_sizes, const Stream& stream) {
  host_ = host;
  device_ = device;
  const auto each = strides();
  std::memset(host, 0, words_bytes());
  std::fill_n(reinterpret_cast<std::uint64_t*>(host), count_, raw_sizes);
  auto* const tasks = reinterpret_cast<EncodeTask*>(host + sizes_bytes());
  for (std::size_t s = 0; s < steps(); ++s) {
    const std::size_t from = s % 2, to = 1 - from;
    for (std::uint32_t chunk = 0; chunk < count_; ++chunk)
      tasks[s * count_ + chunk] = {buffer(from) + chunk * each[from], buffer(to) + chunk * each[to],
                                   chain_->steps_[s].max_bytes};
  }
  return copy_async(device, stream.device(), host, {}, words_bytes(), stream);
}

Status EncodeRun::encode(const Stream& stream) const {
  const auto* tasks = reinterpret_cast<const EncodeTask*>(device_ + sizes_bytes());
  const std::uint64_t scratch_size = scratch_bytes();
  const ByteSpan scratch(device_ + device_bytes() - scratch_size, scratch_size);
  for (std::size_t s = 0; s < steps(); ++s) {
    const auto& step = chain_->steps_[s];
    const EncodeBatch batch{tasks + s * count_, sizes(s), sizes(s + 1), count_, step.in_bytes};
    PENSTOCK_TRY_IN(step.encoder->encode(batch, scratch, stream), "codec " + step.codec);
  }
  return copy_async(host_, {}, device_, stream.device(), sizes_bytes(), stream);
}

Result<std::uint64_t> EncodeRun::encoded_bytes(std::uint32_t chunk) const {
  for (std::size_t s = 0; s < steps(); ++s)
    if (host_sizes(s)[chunk] != kNotEncoded && host_sizes(s + 1)[chunk] == kNotEncoded)
      return Error(ErrorCode::unsupported, fmt::format("codec {}: the device could not encode a chunk of {} bytes",
                                                       chain_->steps_[s].codec, host_sizes(s)[chunk]));
  return host_sizes(steps())[chunk];
}

}  // namespace penstock
