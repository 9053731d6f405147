// The objects that regions touch, one after the other.
#pragma once
#include <vector>

#include "array/read/object_chunks.hpp"

namespace penstock {

/// Objects of one region come in its order.  Those of several are sorted, many at a time, so that regions that want
/// something of the same object get it together.
class ObjectWalk {
 public:
  explicit ObjectWalk(const std::vector<BoundRegion>& regions) : regions_(regions) {}
  /// The parts of the next object; none: there are no more.
  std::vector<Part> next();

 private:
  void sort_some();

  const std::vector<BoundRegion>& regions_;
  std::size_t region_ = 0;
  std::uint64_t object_ = 0;
  std::vector<Part> parts_;  // sorted
  std::vector<std::size_t> ends_;
  std::size_t group_ = 0;
};

}  // namespace penstock
