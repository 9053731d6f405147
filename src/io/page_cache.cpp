#include "io/page_cache.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "io/open_file.hpp"

namespace penstock::io {
namespace {

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

struct Pages {
  std::uint64_t begin = 0;  ///< byte of the first page
  std::uint64_t bytes = 0;  ///< up to the end of the file at most
};

Result<Pages> pages_of(const OpenFile& file, std::uint64_t offset, std::uint64_t bytes) {
  struct stat info{};
  if (uninterrupted([&] { return ::fstat(file.fd.get(), &info); }) != 0) return errno_error(errno, file.path);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (offset >= size) return Pages{};
  const std::uint64_t end = bytes == 0 ? size : offset + std::min(bytes, size - offset);
  const std::uint64_t begin = offset / page_bytes() * page_bytes();
  return Pages{begin, end - begin};
}

}  // namespace

Result<PageCount> count_pages(const OpenFile& file, std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint64_t kWindow = std::uint64_t{1} << 30;  // mapped at a time: the answer takes a byte for each page
  PENSTOCK_ASSIGN(const Pages pages, pages_of(file, offset, bytes));
  PageCount count;
  std::vector<unsigned char> there;
  for (std::uint64_t at = 0; at < pages.bytes; at += kWindow) {
    const std::uint64_t n = std::min(kWindow, pages.bytes - at);
    void* const map = ::mmap(nullptr, n, PROT_READ, MAP_SHARED, file.fd.get(), static_cast<off_t>(pages.begin + at));
    if (map == MAP_FAILED) return errno_error(errno, file.path);
    there.resize((n + page_bytes() - 1) / page_bytes());
    const int failed = ::mincore(map, n, there.data()) == 0 ? 0 : errno;
    (void)::munmap(map, n);
    if (failed != 0) return errno_error(failed, file.path);
    count.all += there.size();
    count.cached += static_cast<std::uint64_t>(
        std::count_if(there.begin(), there.end(), [](unsigned char page) { return (page & 1U) != 0; }));
  }
  return count;
}

Status drop_pages(const OpenFile& file, std::uint64_t offset, std::uint64_t bytes) {
  if (uninterrupted([&] { return ::fdatasync(file.fd.get()); }) != 0) return errno_error(errno, file.path);
  const int why =
      ::posix_fadvise(file.fd.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
  if (why != 0) return errno_error(why, file.path);
  return {};
}

bool is_warm(const OpenFile& file, std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint64_t kProbes = 8;
  for (std::uint64_t i = 0; i < kProbes; ++i) {
    char byte = 0;
    const iovec into{&byte, 1};
    const std::uint64_t at = offset + (bytes - 1) / (kProbes - 1) * i;
    if (::preadv2(file.fd.get(), &into, 1, static_cast<off_t>(at), RWF_NOWAIT) < 0) return errno != EAGAIN;
  }
  return true;
}

}  // namespace penstock::io
