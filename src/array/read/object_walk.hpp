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
  /// Objects that one worker goes through.  They are neighbours, so that workers keep out of each other's cache lines
  /// in the target.
  struct Stretch {
    std::uint64_t next = 0, last = 0;
  };
  std::shared_ptr<Stretch> begin_stretch();
  /// The parts of the worker's next object; where it has none left, it takes half of the longest stretch.  None: there
  /// are no more.
  std::vector<Part> next(Stretch& mine);

 private:
  void sort_some();
  bool find_more(Stretch& mine);
  [[nodiscard]] std::vector<Part> parts_of(std::uint64_t object) const;

  const std::vector<BoundRegion>& regions_;
  std::size_t region_ = 0;
  std::uint64_t object_ = 0;
  std::vector<Part> parts_;  // sorted
  std::vector<std::size_t> ends_;
  std::vector<std::shared_ptr<Stretch>> stretches_;
  bool begun_ = false;  // the objects of a single region were given to somebody
};

}  // namespace penstock
