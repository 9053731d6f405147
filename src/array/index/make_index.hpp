// The index of an array's innermost chunks, by what its metadata say of their place.
#pragma once
#include "array/index/chunk_index.hpp"
#include "array/index/shard_cache.hpp"
#include "codec/chain.hpp"
#include "penstock/dataset.hpp"

namespace penstock {

/// `chain`: the codecs of `dataset`; `path`: of the array in its store.  Both `chain` and `cache` must outlive the
/// index. Errors: those of the indexes.
Result<std::unique_ptr<const ChunkIndex>> make_index(const Dataset& dataset, const CodecChain& chain,
                                                     const std::string& path, ShardIndexCache& cache);

}  // namespace penstock
