#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "codec/zstd/decode/checksum.hpp"
#include "codec/zstd/decode/execute.hpp"
#include "codec/zstd/decode/literals.hpp"
#include "codec/zstd/decode/parse.hpp"
#include "codec/zstd/decode/sequences.hpp"
#include "codec/zstd/passes.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::zstd {
namespace {

constexpr unsigned kWarp = CudaTeam::lanes;
constexpr unsigned kRegisters = 65536;  // of a multiprocessor

/// A tile has 8 bytes a thread, and 1 KiB at least.  With four times as many, rows that copy the row before make long
/// ways through the tile.
template <std::uint32_t Threads>
using ExecuteMemory = TileShared<Threads, std::max(1024u, 8 * Threads)>;

extern __shared__ Bytes16 shared_memory[];
template <class Shared>
__device__ Shared& shared_as() {
  return *reinterpret_cast<Shared*>(shared_memory);
}

__global__ void __launch_bounds__(kWarp) parse_kernel(const __grid_constant__ Workspace ws) {
  const std::uint32_t chunk = blockIdx.x * kWarp + threadIdx.x;
  if (chunk < ws.chunks) parse_chunk(ws, chunk);
}

__global__ void __launch_bounds__(kWarp) list_kernel(const __grid_constant__ Workspace ws, std::uint32_t slice) {
  const std::uint32_t chunk = blockIdx.x * kWarp + threadIdx.x;
  if (chunk < ws.chunks) list_blocks(ws, slice, chunk);
}

/// One block a warp: with four, as many tables wait for the slowest of four lanes that make them, and lanes for each
/// other's banks of shared memory; that was slower for every batch.  A multiprocessor has room for 32 blocks of
/// threads: for more warps than that, blocks of several that have nothing to do with each other.
template <std::uint32_t Warps, std::uint32_t Registers>
__global__ void __launch_bounds__(Warps* kWarp, kRegisters / Registers / (Warps * kWarp))
    literal_kernel(const __grid_constant__ Workspace ws, std::uint32_t slice) {
  decode_literals<1>(CudaTeam{}, ws, slice, (&shared_as<LiteralShared<1>>())[threadIdx.x / kWarp]);
}

template <std::uint32_t Blocks>
__global__ void __launch_bounds__(kWarp) sequence_kernel(const __grid_constant__ Workspace ws, std::uint32_t slice) {
  decode_sequences<Blocks>(CudaTeam{}, ws, slice, shared_as<SequenceShared<Blocks>>());
}

template <std::uint32_t Threads, std::uint32_t Registers>
__global__ void __launch_bounds__(Threads, kRegisters / Registers / Threads)
    execute_kernel(const __grid_constant__ Workspace ws, std::uint32_t slice) {
  constexpr int kAhead = Registers < 64 ? 4 : 8;  // what is loaded must not have to wait in local memory
  execute_chunk<kAhead>(CudaBlockTeam<Threads>{}, ws, slice, blockIdx.x, shared_as<ExecuteMemory<Threads>>());
}

__global__ void __launch_bounds__(kWarp) verify_kernel(const __grid_constant__ Workspace ws, std::uint32_t slice) {
  verify_chunk(CudaTeam{}, ws, slice, blockIdx.x, shared_as<ChecksumShared<kWarp>>());
}

Result<int> attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  PENSTOCK_TRY(cuda_status(cudaDeviceGetAttribute(&value, which, device), "asking for the device's properties"));
  return value;
}

using Kernel = void (*)(Workspace, std::uint32_t);

/// Where kernels are launched.
struct Launcher {
  const Workspace& ws;
  std::uint32_t slice;
  int device;
  cudaStream_t stream;

  Status launch(Kernel kernel, unsigned blocks, unsigned threads, std::size_t shared_bytes) const {
    PENSTOCK_TRY(allow_shared(kernel, shared_bytes));
    kernel<<<blocks, threads, shared_bytes, stream>>>(ws, slice);
    return cuda_status(cudaGetLastError(), "launching the zstd decoder");
  }
  /// Warps that take work until there is none: as many as fit on the device, but no more than there is work for, else a
  /// small batch lies unevenly on the multiprocessors.
  Status launch_takers(Kernel kernel, std::uint32_t work, std::size_t shared_bytes, unsigned warps = 1) const {
    PENSTOCK_TRY(allow_shared(kernel, shared_bytes));
    const unsigned threads = warps * kWarp;
    int each = 0;
    PENSTOCK_TRY(cuda_status(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, static_cast<int>(threads), shared_bytes),
        "asking for a kernel's occupancy"));
    PENSTOCK_ASSIGN(const int multiprocessors, attribute(cudaDevAttrMultiProcessorCount, device));
    const auto most = static_cast<unsigned>(each > 0 ? each : 1) * static_cast<unsigned>(multiprocessors);
    return launch(kernel, work < most ? (work > 0 ? work : 1) : most, threads, shared_bytes);
  }
  static Status allow_shared(Kernel kernel, std::size_t bytes) {
    return cuda_status(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "asking for shared memory");
  }
};

template <std::uint32_t Warps, std::uint32_t Registers>
Status launch_literals(const Launcher& launcher, const LaunchShape& shape) {
  return launcher.launch_takers(literal_kernel<Warps, Registers>, (shape.blocks + Warps - 1) / Warps,
                                Warps * sizeof(LiteralShared<1>), Warps);
}
template <std::uint32_t Blocks>
Status launch_sequences(const Launcher& launcher, const LaunchShape& shape) {
  return launcher.launch_takers(sequence_kernel<Blocks>, (shape.blocks + Blocks - 1) / Blocks,
                                sizeof(SequenceShared<Blocks>));
}
template <std::uint32_t Threads, std::uint32_t Registers>
Status launch_execute(const Launcher& launcher) {
  return launcher.launch(execute_kernel<Threads, Registers>, launcher.ws.chunks, Threads,
                         sizeof(ExecuteMemory<Threads>));
}

Status parse_batch(const Layout& layout, cudaStream_t stream) {
  const Workspace& ws = layout.workspace;
  PENSTOCK_TRY(cuda_status(cudaMemsetAsync(ws.pages_taken, 0, layout.counter_bytes, stream), "clearing counters"));
  parse_kernel<<<(ws.chunks + kWarp - 1) / kWarp, kWarp, 0, stream>>>(ws);
  return cuda_status(cudaGetLastError(), "launching the zstd decoder");
}

/// A second queue of a device, so that literals and sequences are decoded side by side.  Batches take turns with some
/// of them: in one queue, the literals of a batch would wait for the end of the batch before.  Kept: making one takes
/// longer than a small batch.
Result<Stream> side_stream(Device device) {
  constexpr std::size_t kStreams = 4;
  struct Kept {
    std::vector<Stream> streams;
    std::size_t turn = 0;
  };
  static std::mutex mutex;
  static std::map<int, Kept> kept;
  const std::scoped_lock lock(mutex);
  Kept& of_device = kept[device.index];
  if (of_device.streams.size() < kStreams) {
    PENSTOCK_ASSIGN(Stream stream, Stream::create(device));
    of_device.streams.push_back(std::move(stream));
    return of_device.streams.back();
  }
  return of_device.streams[of_device.turn++ % kStreams];
}

}  // namespace

Result<std::uint32_t> multiprocessors_cuda(const Stream& stream) {
  PENSTOCK_ASSIGN(const int n, attribute(cudaDevAttrMultiProcessorCount, stream.device().index));
  return static_cast<std::uint32_t>(n);
}

Status run_pass_cuda(Pass pass, const Layout& layout, std::uint32_t slice, const LaunchShape& shape,
                     const Stream& stream) {
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const auto native = static_cast<cudaStream_t>(stream.native());
  const Launcher launcher{layout.workspace, slice, stream.device().index, native};
  switch (pass) {
    case Pass::parse: return parse_batch(layout, native);
    case Pass::list: return launcher.launch(list_kernel, (layout.workspace.chunks + kWarp - 1) / kWarp, kWarp, 0);
    case Pass::literals:
      return shape.many_chunks ? launch_literals<4, 48>(launcher, shape) : launch_literals<1, 64>(launcher, shape);
    case Pass::sequences:
      switch (shape.sequence_blocks) {
        case 1: return launch_sequences<1>(launcher, shape);
        case 2: return launch_sequences<2>(launcher, shape);
        case 4: return launch_sequences<4>(launcher, shape);
        default: return launch_sequences<8>(launcher, shape);
      }
    case Pass::execute:
      switch (shape.execute_threads) {
        case 1024: return launch_execute<1024, 64>(launcher);
        case 256: return launch_execute<256, 64>(launcher);
        case 128: return launch_execute<128, 64>(launcher);
        default: return shape.many_chunks ? launch_execute<64, 48>(launcher) : launch_execute<64, 64>(launcher);
      }
    case Pass::verify:
      return launcher.launch(verify_kernel, layout.workspace.chunks, kWarp, sizeof(ChecksumShared<kWarp>));
  }
  return {};
}

Status decode_cuda(const Batch& batch, std::span<std::byte> scratch, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "zstd on CUDA needs a CUDA stream, not one of " + stream.device().name());
  if (batch.count == 0) return {};
  PENSTOCK_ASSIGN(const Layout layout, lay_out(batch, scratch));
  PENSTOCK_ASSIGN(const std::uint32_t multiprocessors, multiprocessors_cuda(stream));
  PENSTOCK_ASSIGN(const Stream side, side_stream(stream.device()));
  const LaunchShape shape = choose_shape(layout, batch, multiprocessors);
  PENSTOCK_TRY(run_pass_cuda(Pass::parse, layout, 0, shape, stream));
  for (std::uint32_t slice = 0; slice < layout.workspace.slices; ++slice) {
    PENSTOCK_TRY(run_pass_cuda(Pass::list, layout, slice, shape, stream));
    PENSTOCK_ASSIGN(const Event listed, Event::record(stream));
    PENSTOCK_TRY(listed.wait_on(side));
    PENSTOCK_TRY(run_pass_cuda(Pass::sequences, layout, slice, shape, stream));
    const Status literals = run_pass_cuda(Pass::literals, layout, slice, shape, side);
    PENSTOCK_ASSIGN(const Event joined, Event::record(side));
    PENSTOCK_TRY(joined.wait_on(stream));
    PENSTOCK_TRY(literals);
    PENSTOCK_TRY(run_pass_cuda(Pass::execute, layout, slice, shape, stream));
    if (batch.checksums == Checksums::verify) PENSTOCK_TRY(run_pass_cuda(Pass::verify, layout, slice, shape, stream));
  }
  return {};
}

}  // namespace penstock::zstd
