// What of a file is in the page cache.
#pragma once
#include <cstdint>

#include "penstock/io.hpp"

namespace penstock::io {

struct OpenFile;

/// Pages of [offset, offset + bytes), as far as the file has them.
Result<PageCount> count_pages(const OpenFile& file, std::uint64_t offset, std::uint64_t bytes);
Status drop_pages(const OpenFile& file, std::uint64_t offset, std::uint64_t bytes);
/// Whether a few bytes across the range could all be had without waiting for the disk.
bool is_warm(const OpenFile& file, std::uint64_t offset, std::uint64_t bytes);

}  // namespace penstock::io
