#include "array/read/host.hpp"
#include <algorithm>

#include "array/read/chunk_feed.hpp"

namespace penstock {
namespace {

/// What one worker does with its loads.
class HostDecoder {
 public:
  HostDecoder(const ReadPlan& plan, ChunkFeed& feed, Job& job)
      : plan_(plan), feed_(feed), job_(job), worker_(job.worker()) {}
  Status take(Load& load);

 private:
  Status take_chunk(const Load& load, const ObjectChunks::Chunk& chunk);
  Status decode(const Load& load, const ObjectChunks::Chunk& chunk);
  Status fetch_uncompressed(const Load& load, const ObjectChunks::Chunk& chunk, ChunkBytes& bytes);
  Status fill(const Load& load, const ObjectChunks::Chunk& chunk);
  Status give_up(const Load& load, std::span<const ObjectChunks::Chunk> chunks, Error error);

  const ReadPlan& plan_;
  ChunkFeed& feed_;
  Job& job_;
  Worker& worker_;
};

Status HostDecoder::fill(const Load& load, const ObjectChunks::Chunk& chunk) {
  ChunkSliceArray slices;
  for (std::size_t u = chunk.first_use; u < chunk.last_use; ++u) {
    const ChunkUse use = load.object->use(chunk, u, slices);
    PENSTOCK_TRY(use.place_fill());
    job_.advance(use.bytes());
  }
  return {};
}

Status HostDecoder::give_up(const Load& load, std::span<const ObjectChunks::Chunk> chunks, Error error) {
  const ChunkRef& ref = chunks.front().ref;
  PENSTOCK_TRY(note_problem(plan_, job_, *ref.holder, load.region().state->store->url(), ref.path(), std::move(error)));
  for (const ObjectChunks::Chunk& chunk : chunks) PENSTOCK_TRY(fill(load, chunk));
  return {};
}

/// Only what is asked for is read, and straight to its place where it can be.
Status HostDecoder::fetch_uncompressed(const Load& load, const ObjectChunks::Chunk& chunk, ChunkBytes& bytes) {
  ChunkSliceArray slices;
  for (std::size_t u = chunk.first_use; u < chunk.last_use; ++u) {
    const ChunkUse use = load.object->use(chunk, u, slices);
    ByteExtent wanted = touched_bytes(use.chain->chunk_layout(), use.slices, use.region->item_bytes);
    const bool whole = use.takes_whole();
    if (whole) wanted = {0, bytes.size()};
    const std::uint64_t count = wanted.last - wanted.first;
    PENSTOCK_ASSIGN(const ByteView got,
                    whole ? bytes.get(0, ByteSpan(use.out, count)) : bytes.get(wanted.first, count, worker_.encoded));
    if (got.data() != use.out) {
      const StageClock clock(worker_, Stage::assemble);
      PENSTOCK_TRY(use.place(got.data(), ChunkUse::Source::from_front));
    }
    job_.advance(use.bytes());
  }
  return {};
}

Status HostDecoder::decode(const Load& load, const ObjectChunks::Chunk& chunk) {
  const CodecChain& chain = *chunk.chain;
  const CancelToken& stop = job_.stop();
  PENSTOCK_ASSIGN(std::optional<ChunkBytes> bytes, chain.is_uncompressed()
                                                       ? ChunkBytes::open(load, chunk.ref, worker_, stop)
                                                       : ChunkBytes::fetch(load, chunk.ref, chain, worker_, stop));
  if (!bytes) {
    worker_.absent += 1;
    return fill(load, chunk);
  }
  if (chain.is_uncompressed()) {
    PENSTOCK_TRY(check_encoded_size(chain, bytes->size()));
    return fetch_uncompressed(load, chunk, *bytes);
  }
  const ByteView encoded = bytes->bytes();
  ChunkSliceArray slices;
  {
    const StageClock clock(worker_, Stage::decode);
    const ChunkUse use = load.object->use(chunk, chunk.first_use, slices);
    Arena discarded;
    const DecodeContext context{use.region->discards ? &discarded : use.region->arena};
    if (chunk.last_use - chunk.first_use == 1 && use.takes_whole()) {
      PENSTOCK_TRY(chain.decode_to_layout(encoded, {use.out, chain.decoded_size()}, worker_.scratch, context));
      job_.advance(chain.decoded_size());
      return {};
    }
    PENSTOCK_TRY(worker_.decoded.resize_discard(chain.decoded_size()));
    PENSTOCK_TRY(chain.decode_to_layout(encoded, worker_.decoded.span(), worker_.scratch, context));
  }
  const StageClock clock(worker_, Stage::assemble);
  for (std::size_t u = chunk.first_use; u < chunk.last_use; ++u) {
    const ChunkUse use = load.object->use(chunk, u, slices);
    PENSTOCK_TRY(use.place(worker_.decoded.data(), ChunkUse::Source::whole_chunk));
    job_.advance(use.bytes());
  }
  return {};
}

Status HostDecoder::take_chunk(const Load& load, const ObjectChunks::Chunk& chunk) {
  worker_.chunks += 1;
  if (chunk.ref.state == ChunkRef::State::absent) {
    worker_.absent += 1;
    return fill(load, chunk);
  }
  Status done = decode(load, chunk);
  if (done) return done;
  PENSTOCK_ASSIGN(const bool later, feed_.locate_again(load, chunk, done.error()));
  if (!later) return give_up(load, {&chunk, 1}, std::move(done).error());
  worker_.chunks -= 1;
  return {};
}

Status HostDecoder::take(Load& load) {
  const ChunkRef& first = load.chunks().front().ref;
  if (first.error) {
    worker_.chunks += 1;  // the object as a whole cannot be read: one problem, not one for each chunk in it
    return give_up(load, load.chunks(), *first.error);
  }
  PENSTOCK_TRY(load.bring(worker_, job_.stop()));
  for (const ObjectChunks::Chunk& chunk : load.chunks()) PENSTOCK_TRY(take_chunk(load, chunk));
  return {};
}

}  // namespace

Status note_problem(const ReadPlan& plan, Job& job, const ChunkHolder& holder, const std::string& url,
                    const std::string& path, Error error) {
  if (!path.empty()) error.add_context(path);
  if (plan.on_error == OnError::fail || ends_work(error)) {
    // Errors of the store name the object themselves.
    if (error.message().find(holder.key) == std::string::npos) error.add_context(url + "/" + holder.key);
    return error;
  }
  job.add_problem(holder.key, error.message());
  return {};
}

Status decode_to_host(const ReadPlan& plan, ChunkFeed& feed, Job& job) {
  HostDecoder decoder(plan, feed, job);
  ChunkFeed::Share share;
  Load load;
  for (;;) {
    PENSTOCK_ASSIGN(const bool more, feed.next(share, load));
    if (!more) return {};
    PENSTOCK_TRY(job.check());
    PENSTOCK_TRY(decoder.take(load));
  }
}

}  // namespace penstock
