// nvCOMP, NVIDIA's library of GPU decoders, found at run time: nothing of it is needed to build or to run penstock.
// Source: the documentation of its batched C API, https://docs.nvidia.com/cuda/nvcomp/c_api.html, of version 6.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock::nvcomp {

/// What all nvcompBatched*DecompressOpts_t of version 6 have in common: 64 bytes that begin with the backend, and are 0
/// where nothing else is wanted.
struct DecompressOptions {
  int backend = 2;  ///< NVCOMP_DECOMPRESS_BACKEND_CUDA: the hardware engine reports no corrupt input at all
  char rest[60] = {};
};
static_assert(sizeof(DecompressOptions) == 64);

/// nvcompStatus_t, as far as it is told apart.
enum Outcome : int { kSuccess = 0, kBadChecksum = 13, kOutputTooSmall = 15, kChunkTooLarge = 18 };

/// nvcompBatched*DecompressGetTempSize and nvcompBatched*DecompressAsync; the last argument is a cudaStream_t.
struct Functions {
  using TempSize = Outcome (*)(std::size_t count, std::size_t largest_bytes, DecompressOptions options,
                               std::size_t* temp_bytes, std::size_t total_bytes, void* stream);
  using Decompress = Outcome (*)(const void* const* in, const std::size_t* in_bytes, const std::size_t* room,
                                 std::size_t* out_bytes, std::size_t count, void* temp, std::size_t temp_bytes,
                                 void* const* out, DecompressOptions options, Outcome* outcomes, void* stream);
  TempSize temp_size = nullptr;
  Decompress decompress = nullptr;
};

/// What a chunk is, to nvCOMP.
enum class Format : std::uint32_t { zstd, lz4, gzip };

/// A loaded library; it is never unloaded.
struct PENSTOCK_API Library {
  std::string file;        ///< as it was asked for
  std::string version;     ///< "6.0.0"
  Functions functions[3];  // by Format

  [[nodiscard]] const Functions& of(Format format) const { return functions[static_cast<std::size_t>(format)]; }
  /// "nvCOMP 6.0"
  [[nodiscard]] std::string name() const { return "nvCOMP " + version.substr(0, version.rfind('.')); }
};

/// Loads the library of this path, or of this name where the system looks for libraries; empty: libnvcomp.so.6.  It is
/// kept for the next call.  Errors: unsupported with what to do (not found, of another version, not nvCOMP).
PENSTOCK_API Result<std::shared_ptr<const Library>> load(const std::string& file);

}  // namespace penstock::nvcomp
