#include "format/nifti/open.hpp"

#include "format/nifti/nifti.hpp"
#include "format/node.hpp"
#include "store/fetch_one.hpp"

namespace penstock {
namespace {

constexpr std::string_view kHeader = ".hdr", kImage = ".img";

std::string with_ending(std::string_view path, std::string_view ending) {
  return std::string(path.substr(0, path.size() - ending.size())) + std::string(ending);
}

/// The volume of a pair, whichever of the two was named.
Result<std::optional<NodeInfo>> open_pair(const Store& store, std::string_view path) {
  const std::string header = with_ending(path, kHeader), image = with_ending(path, kImage);
  Candidate named(store, header);
  PENSTOCK_ASSIGN(const Candidate::Head* const head, named.head());
  if (head == nullptr || !is_nifti_pair(head->bytes)) return std::optional<NodeInfo>();
  const FetchAnswer data = probe(store, image);
  PENSTOCK_TRY(data.status);
  if (data.absent)
    return Error(ErrorCode::not_found, metadata::where(store, image) + ": is not there; it has the data of " + header);
  PENSTOCK_ASSIGN_IN(Dataset dataset, parse_nifti(head->bytes, image, data.object_bytes),
                     metadata::where(store, header));
  return std::optional<NodeInfo>(std::move(dataset));
}

}  // namespace

std::string nifti_title(int version) { return "NIfTI-" + std::to_string(version); }

Result<std::optional<NodeInfo>> open_nifti(Candidate& candidate) {
  if (candidate.path().ends_with(kHeader) || candidate.path().ends_with(kImage))
    return open_pair(candidate.store(), candidate.path());
  PENSTOCK_ASSIGN(const Candidate::Head* const head, candidate.head());
  if (head == nullptr || !is_nifti_header(head->bytes)) return std::optional<NodeInfo>();
  if (is_nifti_pair(head->bytes))
    return Error(ErrorCode::unsupported, metadata::where(candidate.store(), candidate.path()) +
                                             ": a header whose data lie in a file of their own")
        .set_hint("its name must end in .hdr, and that of the data beside it in .img.");
  PENSTOCK_ASSIGN_IN(Dataset dataset, parse_nifti(head->bytes, candidate.path(), head->object_bytes),
                     metadata::where(candidate.store(), candidate.path()));
  return std::optional<NodeInfo>(std::move(dataset));
}

}  // namespace penstock
