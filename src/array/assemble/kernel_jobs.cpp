#include "array/assemble/kernel_jobs.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "array/assemble/job.hpp"

namespace penstock::place {
namespace {

constexpr std::uint32_t kVector = 16;
constexpr std::int64_t kLine = 128;  ///< what a warp asks of the bus at once

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// Largest power of two up to `most` that divides addresses and strides; the innermost loop may be left out.
std::uint32_t common_alignment(const PlaceJob& job, std::uint32_t most, bool with_innermost) {
  std::uint64_t bits = most | address(job.target) | address(job.source);
  for (std::uint32_t d = 0; d < job.rank; ++d)
    if (with_innermost || d + 1 < job.rank)
      bits |=
          static_cast<std::uint64_t>(job.dims[d].source_stride) | static_cast<std::uint64_t>(job.dims[d].target_stride);
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

/// Words at odd addresses become smaller ones of `aligned` bytes.  A swapped word becomes bytes read backwards.
void narrow_words(PlaceJob& job, std::uint32_t aligned) {
  PlaceDim& inside = job.dims[job.rank++];
  if (job.swap_bytes > 1) {
    inside = {job.word_bytes, -1, 1};
    job.source += job.word_bytes - 1;
    job.word_bytes = job.swap_bytes = 1;
  } else {
    inside = {job.word_bytes / aligned, aligned, aligned};
    job.word_bytes = aligned;
  }
  simplify(job);
}

/// Contiguous rows are moved in the largest vectors that fit; returns the size of the vector.
std::uint32_t widen(PlaceJob& job) {
  if (job.rank == 0) return job.word_bytes;
  PlaceDim& inner = job.dims[job.rank - 1];
  const bool rows =
      inner.target_stride == job.word_bytes && (job.source == nullptr || inner.source_stride == job.word_bytes);
  if (!rows) return job.word_bytes;
  const std::uint64_t bytes = inner.count * job.word_bytes;
  const auto fits = static_cast<std::uint32_t>(std::min<std::uint64_t>(kVector, bytes & (~bytes + 1)));
  const std::uint32_t vector = std::max(job.word_bytes, common_alignment(job, fits, false));
  inner = {bytes / vector, job.source != nullptr ? vector : 0, vector};
  return vector;
}

/// Axis orders differ: 16 x 16 tiles, so that a block of threads uses whole sectors of memory on both sides.
void tile(PlaceJob& job) {
  constexpr std::uint64_t kTile = 16;
  if (job.source == nullptr || job.rank < 2 || job.rank + 2 > kKernelLoops) return;
  PlaceDim along = job.dims[job.rank - 1];
  PlaceDim* across = std::min_element(
      job.dims.data(), job.dims.data() + job.rank - 1,
      [](const auto& a, const auto& b) { return std::abs(a.source_stride) < std::abs(b.source_stride); });
  if (std::abs(across->source_stride) >= std::abs(along.source_stride)) return;
  if (along.count % kTile != 0 || across->count % kTile != 0) return;
  const auto split = [](PlaceDim& loop) {
    const PlaceDim part = {kTile, loop.source_stride, loop.target_stride};
    loop = {loop.count / kTile, loop.source_stride * std::int64_t{kTile}, loop.target_stride * std::int64_t{kTile}};
    return part;
  };
  const PlaceDim across_part = split(*across);
  const PlaceDim along_part = split(job.dims[job.rank - 1]);
  job.dims[job.rank++] = across_part;
  job.dims[job.rank++] = along_part;
}

KernelJob kernel_job(const PlaceJob& job) {
  KernelJob out{};
  out.source = reinterpret_cast<const std::uint8_t*>(job.source);
  out.target = reinterpret_cast<std::uint8_t*>(job.target);
  out.rank = job.rank;
  out.swap_bytes = job.swap_bytes;
  out.count = 1;
  for (std::uint32_t d = 0; d < job.rank; ++d) {
    out.loops[d] = {job.dims[d].count, job.dims[d].source_stride, job.dims[d].target_stride};
    out.count *= job.dims[d].count;
  }
  return out;
}

/// Loops beyond what the kernel has are run here: one job for each of their turns.
void emit(PlaceJob job, std::vector<KernelJob>& out, const Bytes16& fill) {
  if (job.rank <= kKernelLoops) {
    out.push_back(kernel_job(job));
    out.back().fill = fill;
    return;
  }
  const PlaceDim outer = job.dims[0];
  std::copy(job.dims.begin() + 1, job.dims.begin() + job.rank, job.dims.begin());
  --job.rank;
  for (std::uint64_t i = 0; i < outer.count; ++i) {  // depth: at most the rank
    emit(job, out, fill);
    if (job.source != nullptr) job.source += outer.source_stride;
    job.target += outer.target_stride;
  }
}

void add(PlaceJob job, KernelJobs& out) {
  const std::uint32_t aligned = common_alignment(job, job.word_bytes, true);
  if (aligned < job.word_bytes && job.source == nullptr) {  // each part of the word is a fill value of its own
    for (std::uint32_t at = 0; at < job.word_bytes; at += aligned) {
      PlaceJob part = job;
      part.target += at;
      part.word_bytes = aligned;
      std::memcpy(part.fill.data(), job.fill.data() + at, aligned);
      add(part, out);
    }
    return;
  }
  if (aligned < job.word_bytes) narrow_words(job, aligned);
  Bytes16 fill;
  for (std::uint32_t i = 0; i < kVector; i += job.word_bytes)
    std::memcpy(reinterpret_cast<std::byte*>(&fill) + i, job.fill.data(), job.word_bytes);
  const std::uint32_t vector = widen(job);
  tile(job);
  emit(job, out[static_cast<std::size_t>(std::countr_zero(vector))], fill);
}

}  // namespace

Result<KernelJobs> make_kernel_jobs(std::span<const PlaceItem> items) {
  KernelJobs out;
  std::vector<PlaceJob> jobs;
  for (const PlaceItem& item : items) {
    PENSTOCK_TRY(check_item(item));
    jobs.clear();
    append_jobs(item, jobs);
    for (const PlaceJob& job : jobs) add(job, out);
  }
  return out;
}

}  // namespace penstock::place

namespace penstock {

Status place_cuda(std::span<const PlaceItem> items, const Stream& stream) {
  PENSTOCK_ASSIGN(const place::KernelJobs jobs, place::make_kernel_jobs(items));
  return place::run_cuda(jobs, stream);
}

bool reads_in_rows(const PlaceItem& item) {
  PlaceJob job;
  if (item.source == nullptr || !check_item(item) || !single_job(item, job)) return false;
  if (place::common_alignment(job, job.word_bytes, true) < job.word_bytes) return false;
  if (place::widen(job) != place::kVector) return false;
  std::int64_t run = place::kVector;  // bytes of the source that follow each other in the order of the vectors
  for (std::uint32_t d = job.rank; d-- > 0 && job.dims[d].source_stride == run;)
    run *= static_cast<std::int64_t>(job.dims[d].count);
  return run >= place::kLine;
}

}  // namespace penstock
