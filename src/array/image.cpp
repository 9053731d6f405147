// Groups that are OME-NGFF images.
#include "format/format.hpp"
#include "penstock/array.hpp"

namespace penstock {

Result<std::vector<Multiscale>> Group::multiscales() const {
  return parse_ngff(info().attributes, info().format.version);
}

}  // namespace penstock
