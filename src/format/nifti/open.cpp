#include "format/nifti/open.hpp"

#include "format/nifti/nifti.hpp"
#include "format/node.hpp"

namespace penstock {

std::string nifti_title(int version) { return "NIfTI-" + std::to_string(version); }

Result<std::optional<NodeInfo>> open_nifti(Candidate& candidate) {
  PENSTOCK_ASSIGN(const Candidate::Head* const head, candidate.head());
  if (head == nullptr || !is_nifti_header(head->bytes)) return std::optional<NodeInfo>();
  PENSTOCK_ASSIGN_IN(Dataset dataset, parse_nifti(head->bytes, candidate.path(), head->object_bytes),
                     metadata::where(candidate.store(), candidate.path()));
  return std::optional<NodeInfo>(std::move(dataset));
}

}  // namespace penstock
