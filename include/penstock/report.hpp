// What happened during a read, a write or a copy.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/api.hpp"

namespace penstock {

/// How often something happened in a stage.
struct StageCount {
  std::string what;  ///< "requests", "chunks by their placement"
  std::uint64_t count = 0;
};

/// One stage of the data's journey.
struct PENSTOCK_API StageReport {
  std::string stage;        ///< "fetch", "decode", "assemble", "encode", "store"
  std::string path;         ///< "file, 16 threads, buffered", "cpu, zstd", "cuda:0, lz4 (own)"
  std::string reason;       ///< why this path and no other
  std::uint64_t bytes = 0;  ///< bytes that left the stage
  double seconds = 0;       ///< time spent in it, summed over threads
  std::vector<StageCount> counts = {};

  /// The reason and the counts, for people.
  [[nodiscard]] std::string why() const;
};

/// A chunk that could not be read.
struct ChunkProblem {
  std::string key;
  std::string message;
};

/// What went one way in a copy.
struct Traffic {
  std::uint64_t chunks = 0;
  std::uint64_t absent_chunks = 0;
  std::uint64_t requests = 0;
  std::uint64_t stored_bytes = 0;
};

/// The whole of it.  Times in seconds, sizes in bytes.
struct PENSTOCK_API Report {
  std::string operation;  ///< "read", "write", "copy", "verify"
  double wall_seconds = 0;
  std::uint64_t decoded_bytes = 0;
  std::uint64_t stored_bytes = 0;   ///< encoded bytes read or written
  std::uint64_t requests = 0;       ///< reads or writes of the store
  std::uint64_t chunks = 0;         ///< innermost chunks touched
  std::uint64_t absent_chunks = 0;  ///< of them, read as fill value
  std::uint64_t threads = 0;
  std::uint64_t budget_bytes = 0;       ///< what the operation was allowed
  std::uint64_t peak_host_bytes = 0;    ///< working memory beyond the output
  std::uint64_t peak_device_bytes = 0;  ///< the same on the device
  std::optional<Traffic> written;  ///< copy, pyramid: the part of the sums above that was written; the rest was read
  std::string note;                ///< what there is to say instead of figures: "complete already; nothing to do"
  std::vector<StageReport> stages;
  std::vector<ChunkProblem> problems;  ///< with on_error = fill, or verify

  /// Adds another piece of the same work: sums, the higher peaks, and of equal stages bytes, times and counts
  /// together, with the first one's reason; stages stay in the order of the data's journey.  Wall time stays.
  void merge(const Report& part);
  /// A table for people.
  [[nodiscard]] std::string text() const;
  /// One JSON object.
  [[nodiscard]] std::string json() const;
};

}  // namespace penstock
