// Whether a write can be quicker than the levels in the metadata say without becoming larger.  Samples of chunks misled
// (matches of labels are far apart), so whole chunks are tried, once for a write.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "array/write/region_writer.hpp"
#include "core/settings.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kTried = 4;        // chunks
constexpr std::uint64_t kChunksEach = 32;  // that are written for one that is tried: a twentieth of the time, at most

}  // namespace

/// The elements of one of `of` chunks that lie spread over the region.
Result<ByteView> RegionWriter::chunk_to_try(Worker& worker, std::uint64_t i, std::uint64_t of) const {
  const std::uint64_t chunk = (2 * i + 1) * (objects() * chunks_of_object() / of) / 2;
  PENSTOCK_ASSIGN(const Piece object, piece(chunk / chunks_of_object()));
  const Part one = part(object, chunk % chunks_of_object() * parts(object) / chunks_of_object());
  return take_chunk(worker, encoder(), one, false);
}

Status RegionWriter::choose_encoder(Job& job) {
  const std::uint64_t chunks = objects() * chunks_of_object();
  const std::uint64_t tried = std::min(kTried, chunks / kChunksEach);
  if (tried == 0) return {};
  PENSTOCK_ASSIGN(std::optional<CodecChain> quick, encoder().quicker());
  if (!quick) return {};
  PENSTOCK_ASSIGN(const ZstdSearch search, zstd_search());
  if (search == ZstdSearch::of_the_level) return {};
  std::array<std::uint64_t, 2 * kTried> sizes{};  // of chunk i: by the level, quicker
  const auto encode = [&](std::uint64_t k) -> Status {
    Worker& worker = job.worker();
    PENSTOCK_ASSIGN(const ByteView chunk, chunk_to_try(worker, k / 2, tried));
    if (is_all_fill(chunk)) return {};
    const StageClock clock(worker, Stage::encode);
    PENSTOCK_TRY((k % 2 == 0 ? encoder() : *quick).encode(chunk, worker.encoded, worker.scratch));
    sizes[k] = worker.encoded.size();
    return {};
  };
  PENSTOCK_TRY(job.for_each(2 * tried, true, encode));
  std::uint64_t level_bytes = 0, quick_bytes = 0;
  for (std::uint64_t k = 0; k < 2 * tried; ++k) (k % 2 == 0 ? level_bytes : quick_bytes) += sizes[k];
  if (level_bytes == 0) return {};
  const bool take = quick_bytes <= level_bytes;
  const double percent = 100 * std::abs(static_cast<double>(quick_bytes) / static_cast<double>(level_bytes) - 1);
  encoder_reason_ =
      fmt::format("{} search: the fast one makes {:.1f} % {} bytes of {} chunk{}", take ? "fast" : "the level's",
                  percent, take ? "fewer" : "more", tried, tried == 1 ? "" : "s");
  if (take) quick_ = std::move(quick);
  return {};
}

}  // namespace penstock
