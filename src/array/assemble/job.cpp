#include "array/assemble/job.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace penstock {
namespace {

constexpr std::uint32_t kLargestWord = 16;

Error bad_item(const std::string& what) { return {ErrorCode::invalid_argument, "placement: " + what}; }

/// Largest word that divides `bytes`.
std::uint32_t word_of(std::uint32_t bytes) { return std::min(kLargestWord, bytes & (~bytes + 1)); }

/// Smallest word after which the fill value repeats; if there is none, the largest that divides the element.
std::uint32_t fill_word(const PlaceItem& item) {
  const std::uint32_t largest = word_of(item.item_bytes);
  if (item.fill.empty()) return largest;
  for (std::uint32_t word = 1; word < largest; word *= 2)
    if (std::equal(item.fill.begin() + word, item.fill.end(), item.fill.begin())) return word;
  return largest;
}

/// The loops over the elements of the part; the word is the whole element for now.
PlaceJob job_over_elements(const PlaceItem& item) {
  PlaceJob job;
  job.next_use = item.next_use;
  job.target = item.target;
  job.rank = static_cast<std::uint32_t>(item.part.size());
  for (std::size_t d = 0; d < item.part.size(); ++d) job.dims[d] = {item.part[d].count, 0, item.target_strides[d]};
  if (item.source == nullptr) return job;
  std::int64_t start = 0;
  for (std::size_t d = 0; d < item.part.size(); ++d) {
    start += static_cast<std::int64_t>(item.part[d].start) * item.source_strides[d];
    if (item.part[d].count > 1) job.dims[d].source_stride = item.part[d].step * item.source_strides[d];
  }
  job.source = item.source + start;
  return job;
}

/// `job` for `bytes` bytes at `offset` of every element, in words.
void narrow(PlaceJob& job, std::uint32_t offset, std::uint32_t bytes, std::uint32_t word, std::uint32_t swap) {
  if (job.source != nullptr) job.source += offset;
  job.target += offset;
  job.word_bytes = word;
  job.swap_bytes = swap;
  if (bytes > word) job.dims[job.rank++] = {bytes / word, job.source != nullptr ? word : 0, word};
  simplify(job);
}

void append_fill(const PlaceItem& item, std::vector<PlaceJob>& jobs) {
  const std::uint32_t word = fill_word(item);
  for (std::uint32_t offset = 0; offset < item.item_bytes; offset += word) {
    PlaceJob job = job_over_elements(item);
    std::memcpy(job.fill.data(), item.fill.data() + offset, word);
    narrow(job, offset, word, word, 1);
    jobs.push_back(job);
  }
}

void append_copy(const PlaceItem& item, std::uint32_t begin, std::uint32_t end, std::vector<PlaceJob>& jobs) {
  if (begin == end) return;
  jobs.push_back(job_over_elements(item));
  narrow(jobs.back(), begin, end - begin, word_of(end - begin), 1);
}

bool is_empty(const PlaceItem& item) {
  return std::any_of(item.part.begin(), item.part.end(), [](const Range& range) { return range.count == 0; });
}

void append_field_runs(const DType& dtype, std::uint32_t offset, std::vector<SwapRun>& runs) {
  if (dtype.kind != Kind::structure) {
    const std::uint32_t unit = dtype.swap_unit();
    if (unit > 1) runs.push_back({offset, unit, dtype.size_bytes / unit});
    return;
  }
  for (const Field& field : dtype.fields) {
    std::uint64_t repeats = 1;
    for (const std::uint64_t extent : field.shape) repeats *= extent;
    for (std::uint64_t i = 0; i < repeats; ++i)
      append_field_runs(field.dtype,
                        offset + field.offset_bytes + static_cast<std::uint32_t>(i) * field.dtype.size_bytes, runs);
  }
}

}  // namespace

std::vector<SwapRun> swap_runs(const DType& dtype) {
  std::vector<SwapRun> runs, merged;
  append_field_runs(dtype, 0, runs);
  std::sort(runs.begin(), runs.end(),
            [](const SwapRun& a, const SwapRun& b) { return a.offset_bytes < b.offset_bytes; });
  for (const SwapRun& run : runs) {
    SwapRun* last = merged.empty() ? nullptr : &merged.back();
    if (last != nullptr && last->unit_bytes == run.unit_bytes &&
        last->offset_bytes + last->unit_bytes * last->count == run.offset_bytes)
      last->count += run.count;
    else
      merged.push_back(run);
  }
  return merged;
}

void simplify(PlaceJob& job) {
  std::uint32_t rank = 0;
  for (PlaceDim dim : job.loops()) {
    if (dim.count == 1) continue;
    if (dim.target_stride < 0) {
      const auto back = static_cast<std::int64_t>(dim.count - 1);
      job.target += back * dim.target_stride;
      if (job.source != nullptr) job.source += back * dim.source_stride;
      dim.target_stride = -dim.target_stride;
      dim.source_stride = -dim.source_stride;
    }
    // Insertion keeps them sorted; there are few.
    std::uint32_t at = rank++;
    for (; at > 0 && job.dims[at - 1].target_stride < dim.target_stride; --at) job.dims[at] = job.dims[at - 1];
    job.dims[at] = dim;
  }
  std::uint32_t kept = 0;
  for (std::uint32_t d = 0; d < rank; ++d) {
    const PlaceDim inner = job.dims[d];
    const auto count = static_cast<std::int64_t>(inner.count);
    if (kept > 0 && job.dims[kept - 1].target_stride == inner.target_stride * count &&
        job.dims[kept - 1].source_stride == inner.source_stride * count)
      job.dims[kept - 1] = {job.dims[kept - 1].count * inner.count, inner.source_stride, inner.target_stride};
    else
      job.dims[kept++] = inner;
  }
  job.rank = kept;
}

Status check_item(const PlaceItem& item) {
  const std::size_t rank = item.part.size();
  if (rank > kMaxRank) return bad_item("rank " + std::to_string(rank) + " is more than " + std::to_string(kMaxRank));
  if (item.target_strides.size() != rank || (item.source != nullptr && item.source_strides.size() != rank))
    return bad_item("strides and part differ in rank");
  if (item.item_bytes == 0) return bad_item("elements of 0 bytes");
  if (item.source == nullptr && !item.fill.empty() && item.fill.size() != item.item_bytes)
    return bad_item("the fill value has " + std::to_string(item.fill.size()) + " bytes, an element " +
                    std::to_string(item.item_bytes));
  std::uint64_t end = 0;
  for (const SwapRun& run : item.swaps) {
    const bool unit_ok = std::has_single_bit(run.unit_bytes) && run.unit_bytes <= kLargestWord;
    if (!unit_ok || run.offset_bytes < end) return bad_item("byte order runs overlap or have odd units");
    end = run.offset_bytes + std::uint64_t{run.unit_bytes} * run.count;
    if (end > item.item_bytes) return bad_item("a byte order run lies outside the element");
  }
  return {};
}

bool single_job(const PlaceItem& item, PlaceJob& job) {
  if (is_empty(item)) return false;
  const std::uint32_t item_bytes = item.item_bytes;
  if (item.source == nullptr) {
    const std::uint32_t word = fill_word(item);
    if (!item.fill.empty() && !std::equal(item.fill.begin() + word, item.fill.end(), item.fill.begin())) return false;
    job = job_over_elements(item);
    if (!item.fill.empty()) std::memcpy(job.fill.data(), item.fill.data(), word);
    narrow(job, 0, item_bytes, word, 1);
    return true;
  }
  if (item.swaps.empty()) {
    job = job_over_elements(item);
    narrow(job, 0, item_bytes, word_of(item_bytes), 1);
    return true;
  }
  const SwapRun& run = item.swaps.front();
  if (item.swaps.size() > 1 || run.unit_bytes * run.count != item_bytes) return false;
  job = job_over_elements(item);
  narrow(job, 0, item_bytes, run.unit_bytes, run.unit_bytes);
  return true;
}

void append_jobs(const PlaceItem& item, std::vector<PlaceJob>& jobs) {
  if (is_empty(item)) return;
  PlaceJob one;
  if (single_job(item, one)) return jobs.push_back(one);
  if (item.source == nullptr) return append_fill(item, jobs);
  std::uint32_t done = 0;
  for (const SwapRun& run : item.swaps) {
    append_copy(item, done, run.offset_bytes, jobs);
    const std::uint32_t bytes = run.unit_bytes * run.count;
    jobs.push_back(job_over_elements(item));
    narrow(jobs.back(), run.offset_bytes, bytes, run.unit_bytes, run.unit_bytes);
    done = run.offset_bytes + bytes;
  }
  append_copy(item, done, item.item_bytes, jobs);
}

}  // namespace penstock
