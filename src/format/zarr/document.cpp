#include "codec/chain.hpp"
#include "format/zarr/zarr.hpp"
#include "penstock/zarr.hpp"

namespace penstock {

Result<Dataset> parse_zarr_array(int zarr_format, std::string_view document) {
  Dataset dataset;
  if (zarr_format == 2) {
    PENSTOCK_ASSIGN(dataset, parse_zarr2_array(document, "{}"));
  } else {
    PENSTOCK_ASSIGN(NodeInfo node, parse_zarr3(document));
    if (!std::holds_alternative<Dataset>(node)) return Error(ErrorCode::invalid_argument, "the metadata of a group");
    dataset = std::get<Dataset>(std::move(node));
  }
  PENSTOCK_TRY(CodecChain::make(dataset.codecs, {dataset.chunk_shape, dataset.dtype, dataset.fill}));
  return dataset;
}

}  // namespace penstock
