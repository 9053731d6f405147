// Reads one object, a chunk or a shard, for all regions that want something of it.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "array/read/region_reader.hpp"
#include "exec/task_graph.hpp"

namespace penstock {

/// The `object`-th object that a region touches.
struct Part {
  const RegionReader* region;
  std::uint64_t object;
};

/// Shared by all objects of one read.  A chunk that several regions want is decoded once.
class ObjectReader {
 public:
  /// `merge_bytes`: most bytes of a request that is made of several ranges.
  ObjectReader(Job& job, TaskGraph& flow, OnError on_error, std::uint64_t merge_bytes)
      : job_(job), flow_(flow), on_error_(on_error), merge_bytes_(merge_bytes) {}

  /// `parts` are of the same object of the same array.  Inner chunks become pieces of the flow; `parts` may go before
  /// they are read, the regions not.  Errors: those of the store and the codecs, naming the object.
  Status read(std::span<const Part> parts) const;

 private:
  struct Source;
  struct Destinations;
  struct Shard;
  struct InnerGroup;
  Status read_object(const std::string& key, Destinations landings) const;
  Status open_shard(Source source, const CodecChain& chain, Destinations landings, std::string key,
                    std::string name) const;
  Status read_run(const Shard& shard, std::size_t run) const;
  Status read_inner(const Shard& shard, const InnerGroup& group, const std::byte* fetched) const;
  Status read_nested(const Shard& shard, const InnerGroup& group) const;
  Status give_up(const Shard& shard, const InnerGroup& group, Error error) const;
  template <class At>
  Status read_leaf(const Source& source, const std::byte* fetched, const CodecChain& chain, std::size_t landings,
                   const At& landing) const;

  Job& job_;
  TaskGraph& flow_;
  OnError on_error_;
  std::uint64_t merge_bytes_;
};

}  // namespace penstock
