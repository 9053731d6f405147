// Small files, read and replaced as a whole.
#pragma once
#include <string>

#include "penstock/bytes.hpp"

namespace penstock::oct {

/// Errors: not_found, those of reading; the path stands in front.
Result<Bytes> read_small(const std::string& path);
/// Makes the folder if absent.  Errors: those of writing; the path stands in front.
Status write_small(const std::string& path, ByteView bytes);
/// One that is not there is no error.
Status erase_small(const std::string& path);
/// Whether there is a file of that name.
Result<bool> small_exists(const std::string& path);

}  // namespace penstock::oct
