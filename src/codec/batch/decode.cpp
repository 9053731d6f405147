#include "codec/batch/decode.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codec/limit.hpp"
#include "codec/list.hpp"
#include "codec/support.hpp"
#include "core/align.hpp"
#include "core/checked.hpp"
#include "core/json.hpp"
#include "core/settings.hpp"
#include "exec/job.hpp"

namespace penstock {
namespace {

/// Calls piece(i, worker) for every chunk; what it makes is chunk i of the result.
template <class Piece>
Result<std::vector<Bytes>> for_each_chunk(const BytesToBytes& codec, std::string_view what, std::size_t count,
                                          const Options& options, const Piece& piece) {
  std::uint64_t threads = options.threads;
  if (threads == 0) {
    PENSTOCK_ASSIGN(threads, default_threads());
  }
  Job job(options, what, 0, std::min<std::uint64_t>(threads, count), Reuse::yes);
  std::vector<Bytes> made(count);
  const std::string name = codec.spec().name;
  PENSTOCK_TRY(job.run([&] {
    return job.for_each(count, true, [&](std::uint64_t i) -> Status {
      Status done = piece(i, job.worker(), made[i]);
      if (done) return done;
      return std::move(std::move(done).error().add_context(fmt::format("chunk {} of {}: codec {}", i, count, name)));
    });
  }));
  return made;
}

Status decode_one(const BytesToBytes& codec, const EncodedChunk& chunk, Bytes& out) {
  const std::uint64_t expected = chunk.expected_bytes.value_or(0);
  if (chunk.expected_bytes) {
    PENSTOCK_TRY(out.resize_discard(expected));
    Sink sink(out.span());
    if (codec.decode(chunk.bytes, sink)) return {};
  }
  // Another codec before this one may have added to what was expected.
  const std::uint64_t twice = checked_mul(expected, 2).value_or(expected);
  Sink sink(out, std::max(unbounded_limit(chunk.bytes.size()), twice));
  return codec.decode(chunk.bytes, sink);
}

BatchSize size_of(std::span<const DecodeTask> tasks) {
  BatchSize size;
  size.count = static_cast<std::uint32_t>(tasks.size());
  for (const DecodeTask& task : tasks) {
    size.decoded_bytes += task.out_bytes;
    size.largest_bytes = std::max(size.largest_bytes, task.out_bytes);
  }
  return size;
}

/// Where the parts of the room begin.
struct RoomLayout {
  std::uint64_t results, scratch, end;
  RoomLayout(const DeviceDecoder& decoder, std::span<const DecodeTask> tasks)
      : results(aligned(tasks.size_bytes())),
        scratch(results + aligned(tasks.size() * sizeof(ChunkStatus))),
        end(scratch + aligned(decoder.scratch_bytes(size_of(tasks)))) {}
};

}  // namespace

Result<std::unique_ptr<BytesToBytes>> make_bytes_codec(const CodecSpec& spec) {
  const CodecEntry* entry = find_codec(spec.name);
  if (entry == nullptr) return unknown_codec(spec.name);
  const std::string where = "codec " + spec.name;
  PENSTOCK_ASSIGN_IN(const Json configuration, configuration_of(spec), where);
  const ChunkSpec bytes{{1}, DType::uint8(), {}};
  PENSTOCK_ASSIGN_IN(AnyCodec made, entry->make(configuration, bytes), where);
  auto* codec = std::get_if<std::unique_ptr<BytesToBytes>>(&made);
  if (codec == nullptr) return Error(ErrorCode::unsupported, where + " does not turn bytes into bytes");
  return std::move(*codec);
}

Result<std::vector<Bytes>> decode_batch(const BytesToBytes& codec, std::span<const EncodedChunk> chunks,
                                        const Options& options) {
  return for_each_chunk(codec, "decode", chunks.size(), options, [&](std::uint64_t i, Worker& /*worker*/, Bytes& out) {
    return decode_one(codec, chunks[i], out);
  });
}

Result<std::vector<Bytes>> encode_batch(const BytesToBytes& codec, std::span<const ByteView> chunks,
                                        const Options& options) {
  return for_each_chunk(codec, "encode", chunks.size(), options,
                        [&](std::uint64_t i, Worker& worker, Bytes& out) -> Status {
                          // Room for the worst case is reused; what is kept is as large as it must be.
                          PENSTOCK_TRY(codec.encode(chunks[i], worker.encoded));
                          return out.append(worker.encoded);
                        });
}

std::uint64_t room_bytes(const DeviceDecoder& decoder, std::span<const DecodeTask> tasks) {
  return RoomLayout(decoder, tasks).end;
}

Result<std::vector<ChunkStatus>> decode_batch_on(const DeviceDecoder& decoder, std::span<const DecodeTask> tasks,
                                                 ByteSpan room, const Stream& stream) {
  if (decoder.wrapping() || decoder.is_identity())
    return Error(ErrorCode::unsupported, fmt::format("{} leaves the bytes where they are", decoder.name()));
  const RoomLayout at(decoder, tasks);
  if (room.size() < at.end || reinterpret_cast<std::uintptr_t>(room.data()) % kAlign != 0)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("the batch needs {} bytes of device memory at a multiple of {}", at.end, kAlign));
  std::vector<ChunkStatus> results(tasks.size());
  if (tasks.empty()) return results;
  const Device device = stream.device();
  auto* const device_results = reinterpret_cast<ChunkStatus*>(room.data() + at.results);
  const std::uint64_t results_bytes = results.size() * sizeof(ChunkStatus);
  PENSTOCK_TRY(copy_async(room.data(), device, tasks.data(), {}, tasks.size_bytes(), stream));
  PENSTOCK_TRY(copy_async(device_results, device, results.data(), {}, results_bytes, stream));
  const DeviceBatch batch{reinterpret_cast<const DecodeTask*>(room.data()), device_results, size_of(tasks)};
  PENSTOCK_TRY_IN(decoder.decode(batch, room.subspan(at.scratch), stream), "codec " + std::string(decoder.name()));
  PENSTOCK_TRY(copy_async(results.data(), {}, device_results, device, results_bytes, stream));
  PENSTOCK_TRY(stream.synchronize());
  return results;
}

}  // namespace penstock
