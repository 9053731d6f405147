// What `penstock demo` reads.
#pragma once
#include <string>

#include "penstock/pyramid.hpp"

namespace penstock::cli {

/// An array, with the axes and the scale of the image that it belongs to, if it belongs to one.
struct DemoSource {
  std::string url;
  Array array;
  PyramidOptions image;
};

/// The array at `url`; of an image the finest level; of another group its largest array that the demo takes.
/// Errors: invalid_argument (a group without such an array), and those of opening.
Result<DemoSource> open_demo_source(const std::string& url, const StoreOptions& options);

}  // namespace penstock::cli
