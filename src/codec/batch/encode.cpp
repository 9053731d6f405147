#include "codec/batch/encode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/align.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"

namespace penstock {
namespace {

/// Chunks of a batch that are encoded both ways, and chunks for which that is good.
constexpr std::size_t kTried = 4;
constexpr std::uint64_t kGoodFor = 512;

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Where the parts of the room begin: sizes before and after, the tasks, then for each chunk its bytes, which encoders
/// want at multiples of 16, and those that it becomes.
struct Layout {
  std::uint32_t count = 0;
  std::uint64_t largest = 0, most = 0, tasks, in, out, scratch, end;

  Layout(const DeviceEncoder& encoder, std::span<const ByteView> chunks)
      : count(static_cast<std::uint32_t>(chunks.size())) {
    for (const ByteView& chunk : chunks) largest = std::max<std::uint64_t>(largest, chunk.size());
    most = encoder.max_bytes(largest);
    tasks = aligned(2 * count * sizeof(std::uint64_t));
    in = tasks + aligned(count * sizeof(EncodeTask));
    out = in + count * aligned(largest);
    scratch = out + count * aligned(most);
    end = scratch + aligned(encoder.scratch_bytes(count, largest));
  }
};

/// The encoded chunks, in the room; without data: the encoder could not make it.  Waits for the stream.
Result<std::vector<ByteView>> encode_on(const DeviceEncoder& encoder, const Layout& at,
                                        std::span<const ByteView> chunks, ByteSpan room, const Stream& stream) {
  const Device device = stream.device();
  std::vector<std::uint64_t> sizes(2 * at.count, kNotEncoded);
  std::vector<EncodeTask> tasks;
  for (std::uint32_t i = 0; i < at.count; ++i) {
    sizes[i] = chunks[i].size();
    std::byte* const in = room.data() + at.in + i * aligned(at.largest);
    tasks.push_back({in, room.data() + at.out + i * aligned(at.most), at.most});
    PENSTOCK_TRY(copy_async(in, device, chunks[i].data(), device, chunks[i].size(), stream));
  }
  const std::uint64_t sizes_bytes = sizes.size() * sizeof(std::uint64_t);
  PENSTOCK_TRY(copy_async(room.data(), device, sizes.data(), {}, sizes_bytes, stream));
  PENSTOCK_TRY(copy_async(room.data() + at.tasks, device, tasks.data(), {}, tasks.size() * sizeof(EncodeTask), stream));
  auto* const device_sizes = reinterpret_cast<std::uint64_t*>(room.data());
  const EncodeBatch batch{reinterpret_cast<const EncodeTask*>(room.data() + at.tasks), device_sizes,
                          device_sizes + at.count, at.count, at.largest};
  PENSTOCK_TRY(encoder.encode(batch, room.subspan(at.scratch), stream));
  PENSTOCK_TRY(copy_async(sizes.data(), {}, room.data(), device, sizes_bytes, stream));
  PENSTOCK_TRY(stream.synchronize());
  std::vector<ByteView> encoded(at.count);
  for (std::uint32_t i = 0; i < at.count; ++i)
    if (sizes[at.count + i] != kNotEncoded) encoded[i] = {tasks[i].out, sizes[at.count + i]};
  return encoded;
}

}  // namespace

BatchEncoder::BatchEncoder(std::shared_ptr<const BytesToBytes> codec, std::optional<CodecPlace> place)
    : codec_(std::move(codec)), encoder_(codec_->device_encoder()), place_(place) {}

std::uint64_t BatchEncoder::room_bytes(std::span<const ByteView> chunks) const { return Layout(*encoder_, chunks).end; }

/// As the setting says, or the last trial; chunks_left 0: one is due.
Result<BatchEncoder::Choice> BatchEncoder::choice() const {
  PENSTOCK_ASSIGN(const ChosenPlace wanted, encode_place(place_));
  if (wanted.place != CodecPlace::automatic) return Choice{wanted.place == CodecPlace::device, wanted.by, kGoodFor};
  const std::lock_guard lock(mutex_);
  return tried_;
}

void BatchEncoder::used(std::uint64_t chunks) {
  const std::lock_guard lock(mutex_);
  tried_.chunks_left -= std::min(tried_.chunks_left, chunks);
}

Result<bool> BatchEncoder::wants_device(std::uint64_t chunks) {
  PENSTOCK_ASSIGN(const Choice now, choice());
  if (now.on_device || now.chunks_left == 0) return true;
  used(chunks);
  return false;
}

Result<BatchEncoder::Choice> BatchEncoder::tried(std::span<const ByteView> chunks, std::span<const ByteView> encoded,
                                                 double seconds, std::uint64_t threads, const Stream& stream) const {
  const std::size_t step = std::max<std::size_t>(chunks.size() / kTried, 1);
  std::uint64_t count = 0, device_bytes = 0, cpu_bytes = 0;
  double core_seconds = 0;
  for (std::size_t i = step / 2; i < chunks.size() && count < kTried; i += step) {
    if (encoded[i].data() == nullptr) continue;
    Bytes raw, made;
    PENSTOCK_TRY(raw.resize_discard(chunks[i].size()));
    PENSTOCK_TRY(copy_async(raw.data(), {}, chunks[i].data(), stream.device(), raw.size(), stream));
    PENSTOCK_TRY(stream.synchronize());
    const auto start = Clock::now();
    PENSTOCK_TRY_IN(codec_->encode(raw, made), "codec " + codec_->spec().name);
    core_seconds += seconds_since(start);
    device_bytes += encoded[i].size();
    cpu_bytes += made.size();
    count += 1;
  }
  if (count == 0) return Choice{false, "the device could not encode the chunks that were tried", kGoodFor};
  const double more =
      static_cast<double>(device_bytes) / static_cast<double>(std::max<std::uint64_t>(cpu_bytes, 1)) - 1;
  const auto all = static_cast<double>(chunks.size());
  const double by_cpu =
      core_seconds / static_cast<double>(count) * all /
      static_cast<double>(std::min<std::uint64_t>(chunks.size(), std::max<std::uint64_t>(threads, 1)));
  Choice made;
  made.on_device = more <= kMaxLoss && seconds < by_cpu;
  made.reason =
      fmt::format("{} on the device, about {} on {} CPU thread{}; {:.1f} % {} bytes than the CPU's encoder makes",
                  format_seconds(seconds), format_seconds(by_cpu), threads, threads == 1 ? "" : "s",
                  100 * (more < 0 ? -more : more), more < 0 ? "fewer" : "more");
  made.chunks_left = kGoodFor;
  return made;
}

Result<EncodedBatch> BatchEncoder::encode(std::span<const ByteView> chunks, ByteSpan room, std::uint64_t threads,
                                          const Stream& stream) {
  const Layout at(*encoder_, chunks);
  if (room.size() < at.end || reinterpret_cast<std::uintptr_t>(room.data()) % kAlign != 0)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("the batch needs {} bytes of device memory at a multiple of {}", at.end, kAlign));
  PENSTOCK_ASSIGN(const Choice now, choice());
  if (chunks.empty()) return EncodedBatch{now.on_device, now.reason, {}};
  const bool is_trial = now.chunks_left == 0;
  if (is_trial) PENSTOCK_TRY(stream.synchronize());  // what the caller has under way is not the encoder's time
  const auto start = Clock::now();
  PENSTOCK_ASSIGN_IN(std::vector<ByteView> encoded, encode_on(*encoder_, at, chunks, room, stream),
                     "codec " + codec_->spec().name);
  if (!is_trial) {
    used(chunks.size());
    return EncodedBatch{now.on_device, now.reason, std::move(encoded)};
  }
  const double seconds = seconds_since(start);
  if (threads == 0) {
    PENSTOCK_ASSIGN(threads, default_threads());
  }
  PENSTOCK_ASSIGN(Choice made, tried(chunks, encoded, seconds, threads, stream));
  EncodedBatch out{made.on_device, made.reason, std::move(encoded)};
  const std::lock_guard lock(mutex_);
  tried_ = std::move(made);
  return out;
}

}  // namespace penstock
