#include "format/foreign.hpp"

#include <fmt/format.h>

#include "format/list.hpp"
#include "format/node.hpp"

namespace penstock {
namespace {

/// Bytes that a kind of file has at one place.
struct Magic {
  std::size_t offset;
  std::string_view bytes;
  std::string_view what;
};

using namespace std::string_view_literals;

constexpr Magic kMagics[] = {
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    {512, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    {0, "CDF\x01"sv, "a netCDF file"},
    {0, "CDF\x02"sv, "a netCDF file"},
    {0, "CDF\x05"sv, "a netCDF file"},
    {0, "ZISRAWFILE"sv, "a CZI file"},
    {0, "\xda\xce\xbe\x0a"sv, "an ND2 file"},
    {0, "\x93NUMPY"sv, "a NumPy file"},
    {0, "\x89PNG\r\n\x1a\n"sv, "a PNG picture"},
    {0, "\xff\xd8\xff"sv, "a JPEG picture"},
    {128, "DICM"sv, "a DICOM file"},
    {0, "TRACK\0"sv, "a TRK file of streamlines"},
    {0, "mrtrix tracks"sv, "a TCK file of streamlines"},
    {0, "mrtrix image"sv, "an MRtrix image"},
    {0, "NRRD"sv, "an NRRD file"},
    {0, "\x1f\x8b"sv, "a gzip-compressed file"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd-compressed file"},
    {0, "BZh"sv, "a bzip2-compressed file"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "an xz-compressed file"},
    {0, "PK\x03\x04"sv, "a ZIP archive"},
    {0, "%PDF"sv, "a PDF document"},
};

Error refused(const Candidate& candidate, std::string_view what) {
  const std::string where = metadata::where(candidate.store(), candidate.path());
  Error error(ErrorCode::unsupported,
              fmt::format("{} is {}; penstock reads {}", where.starts_with("./") ? where.substr(2) : where, what,
                          formats_read()));
  return error;
}

}  // namespace

std::string_view foreign_name(ByteView head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  for (const Magic& magic : kMagics)
    if (text.size() >= magic.offset + magic.bytes.size() && text.substr(magic.offset).starts_with(magic.bytes))
      return magic.what;
  return "";
}

Result<std::optional<NodeInfo>> name_foreign(Candidate& candidate) {
  PENSTOCK_ASSIGN(const Candidate::Head* const head, candidate.head());
  if (head == nullptr) {
    // N5 keeps its version in the attributes of the root.
    PENSTOCK_ASSIGN(const auto attributes, metadata::read_text(candidate.store(), candidate.path(), "attributes.json"));
    if (attributes && attributes->find("\"n5\"") != std::string::npos) return refused(candidate, "an N5 container");
    return std::optional<NodeInfo>();
  }
  const std::string_view what = foreign_name(head->bytes);
  return refused(candidate, what.empty() ? "a file of no format that is known" : what);
}

}  // namespace penstock
