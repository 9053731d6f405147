// Scratch buffers for codecs that run a chain of their own (sharding), kept per thread within bounds.
#pragma once
#include <memory>

#include "codec/chain.hpp"

namespace penstock {

/// A ScratchBuffers and a chunk buffer lent from this thread's store for the life of the object.  Nested use gets
/// different ones.  A buffer that grew beyond 8 MiB is not kept.
class ScratchLease {
 public:
  ScratchLease();
  ~ScratchLease();
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;

  struct Item {
    ScratchBuffers scratch;
    Bytes chunk;
    Bytes encoded;
  };
  Item* operator->() { return item_.get(); }

 private:
  std::unique_ptr<Item> item_;
};

}  // namespace penstock
