// Past the page cache, by O_DIRECT: whole blocks at aligned places.  Reads fetch the blocks around what is wanted;
// writes take whole pages this way and leave what stands over at both ends to the page cache.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "io/engine.hpp"

namespace penstock::io {
namespace {

// The kernel drops whole pages of the cache around a direct write: a page has one way.
constexpr std::uint64_t kPage = 4096;

std::uint64_t down(std::uint64_t value, std::uint64_t align) { return value / align * align; }
std::uint64_t up(std::uint64_t value, std::uint64_t align) { return down(value + align - 1, align); }
bool is_aligned(const void* address, std::uint64_t align) {
  return reinterpret_cast<std::uintptr_t>(address) % align == 0;
}

std::string unasked(const OpenFile& file) {
  if (file.network.empty()) return {};
  return file.network + " is a file system over a network: direct only where it is asked for";
}

Offer offer(OpenFile& file) {
  if (file.direct_refused()) return {false, file.refusal()};
  const DirectFacts& facts = file.direct();
  if (!facts.fd) return {false, facts.why};
  // What is aligned in the file shall be so in memory, too.
  return {true, facts.why, std::max(facts.offset_align, facts.memory_align), facts.memory_align};
}

/// The page cache takes over what O_DIRECT refuses after all.
bool is_refusal(int errno_value) { return errno_value == EINVAL || errno_value == EOPNOTSUPP; }
std::string refused(int errno_value) {
  return "the system refused O_DIRECT (errno " + std::to_string(errno_value) + ")";
}

Result<ByteView> read(OpenFile& file, const Offer& offer, std::uint64_t offset, std::uint64_t bytes, ByteSpan room) {
  const std::uint64_t begin = down(offset, offer.offset_align);
  const std::uint64_t all = up(offset + bytes, offer.offset_align) - begin;
  const std::uint64_t wanted = offset + bytes - begin;
  std::uint64_t got = 0;
  while (got < wanted && got % offer.offset_align == 0) {
    const ssize_t n = ::pread(file.direct().fd.get(), room.data() + got, all - got, static_cast<off_t>(begin + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && is_refusal(errno)) file.refuse_direct(refused(errno));
    if (n < 0 && !is_refusal(errno)) return errno_error(errno, file.path);
    if (n <= 0) break;
    got += static_cast<std::uint64_t>(n);
  }
  // What is missing, within a block or at all: the page cache has it, or knows that the file ends there.
  if (got < wanted) PENSTOCK_TRY(buffered_engine().read(file, offer, begin + got, wanted - got, room.subspan(got)));
  return ByteView(room.subspan(offset - begin, bytes));
}

/// `from` begins and ends at pages of the file.
Status write_pages(OpenFile& file, const Offer& offer, std::uint64_t offset, ByteView from, ByteSpan room) {
  ByteView source = from;
  if (!from.empty() && !is_aligned(from.data(), offer.memory_align)) {
    std::memcpy(room.data(), from.data(), from.size());
    source = room.first(from.size());
  }
  while (!source.empty()) {
    // The system does not write through the pointer; the struct is shared with reading.
    const iovec part{const_cast<std::byte*>(source.data()), source.size()};
    const ssize_t n = ::pwritev(file.direct().fd.get(), &part, 1, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    const bool in_blocks = n > 0 && static_cast<std::uint64_t>(n) % offer.offset_align == 0;
    if (n < 0 && !is_refusal(errno)) return errno_error(errno, file.path);
    if (n == 0) return errno_error(ENOSPC, file.path);
    if (n < 0) file.refuse_direct(refused(errno));
    if (n > 0) {
      source = source.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    if (!in_blocks) return buffered_engine().write(file, offer, offset, source, room);
  }
  return {};
}

Status write(OpenFile& file, const Offer& offer, std::uint64_t offset, ByteView from, ByteSpan room) {
  const std::uint64_t page = std::max(offer.offset_align, kPage);
  const std::uint64_t begin = up(offset, page), end = down(offset + from.size(), page);
  if (begin >= end) return buffered_engine().write(file, offer, offset, from, room);
  const ByteView head = from.first(begin - offset), tail = from.subspan(end - offset);
  if (!head.empty()) PENSTOCK_TRY(buffered_engine().write(file, offer, offset, head, room));
  if (!tail.empty()) PENSTOCK_TRY(buffered_engine().write(file, offer, end, tail, room));
  return write_pages(file, offer, begin, from.subspan(begin - offset, end - begin), room);
}

}  // namespace

const Engine& direct_engine() {
  static constexpr Engine engine{IoEngine::direct, "direct", 16, kMaxStagedBytes, unasked, offer, read, write};
  return engine;
}

}  // namespace penstock::io
