#include "array/read/chunk_feed.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace penstock {
namespace {

constexpr std::size_t kMaxShare = 32;       // runs that a worker takes at a time
constexpr std::uint64_t kChunksAtOnce = 8;  // located by a worker that reads them itself, where each is an object

/// Verifying: parts of uncompressed chunks and of shards pass no checksum of the whole object, where the store has one.
void check_object(const BoundRegion& region, std::span<ChunkRef> refs) {
  if (!region.view->chain.sharding() && !region.chain->is_uncompressed()) return;
  const auto found =
      std::ranges::find_if(refs, [](const ChunkRef& ref) { return ref.holder != nullptr && !ref.error; });
  if (found == refs.end()) return;
  const Status checked = region.state->store->check(found->holder->key);
  if (checked) return;
  const auto holder = std::make_shared<const ChunkHolder>(ChunkHolder{found->holder->key, {}, {}});
  for (ChunkRef& ref : refs) {
    ref = ChunkRef();
    ref.holder = holder;
    ref.error = checked.error();
  }
}

bool is_there(const ChunkRef& ref) { return !ref.error && ref.state != ChunkRef::State::absent; }
bool needs_request(const ChunkRef& ref) { return is_there(ref) && ref.holder->whole == nullptr; }

}  // namespace

/// Requests of one call to a store, and what they bring.
struct ChunkFeed::Batch final : FetchSink {
  ChunkFeed& feed;
  std::vector<FetchRequest> requests;
  std::vector<Load> loads;
  std::size_t left = 0;   // guarded by mutex_
  bool returned = false;  // the store's call; guarded by mutex_

  explicit Batch(ChunkFeed& of) : feed(of) {}
  Result<ByteSpan> room(std::size_t request, std::uint64_t bytes) override {
    Load& load = loads[request];
    if (requests[request].range.kind == ByteRange::Kind::whole)
      PENSTOCK_TRY(check_encoded_size(*load.chunks().front().chain, bytes));
    if (feed.plan_.way == ReadWay::host) {
      const ByteSpan place = load.place();
      if (!place.empty() && place.size() == bytes) return place;
    }
    PENSTOCK_TRY(load.memory.resize_discard(bytes));
    return load.memory.span();
  }
  void done(std::size_t request, FetchAnswer answer) override { feed.arrive(*this, request, std::move(answer)); }
};

ChunkFeed::ChunkFeed(const ReadPlan& plan, Job& job) : plan_(plan), job_(job), walk_(plan.regions) {}

ChunkFeed::~ChunkFeed() {
  stop();
  Lock lock(mutex_);
  changed_->wait(lock, [&] {
    return std::ranges::all_of(batches_, [](const Batch& batch) { return batch.left == 0 && batch.returned; });
  });
}

void ChunkFeed::stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  cancel_requests_.cancel();
  changed_->notify_all();
}

/// How many objects to locate at once.  Shards that come whole with their index take room in the window then.
std::uint64_t ChunkFeed::objects_ahead() const {
  if (!runs_ahead()) return 1;
  const std::uint64_t most = plan_.traits.requests_in_flight, each = plan_.whole_shard_bytes;
  if (each == 0) return most;
  const std::uint64_t used = charged_bytes_ + held_bytes_;
  const std::uint64_t room = (plan_.window_bytes - std::min(plan_.window_bytes, used)) / each;
  return std::clamp<std::uint64_t>(room, used == 0 ? 1 : 0, most);
}

/// Chunks that lie in one file (a table's, slabs of a volume), which requests may bring together, become one object.
void ChunkFeed::join_neighbours(std::vector<std::vector<Part>>& taken) const {
  if (plan_.traits.merge_gap_bytes == 0) return;
  std::vector<std::vector<Part>> joined;
  for (std::vector<Part>& parts : taken) {
    const ArrayView* const view = parts.front().region->view.get();
    const bool follows = !joined.empty() && joined.back().front().region->view.get() == view &&
                         view->dataset.keys() == nullptr && view->chain.sharding() == nullptr;
    if (follows)
      joined.back().insert(joined.back().end(), parts.begin(), parts.end());
    else
      joined.push_back(std::move(parts));
  }
  taken = std::move(joined);
}

/// Takes objects and locates their chunks, with the lock released meanwhile.  False: there are none.
Result<bool> ChunkFeed::prepare_more(Lock& lock, Share& share) {
  if (!share.stretch) share.stretch = walk_.begin_stretch();
  std::uint64_t most = objects_ahead();
  std::vector<std::vector<Part>> taken;
  while (taken.size() < most) {
    std::vector<Part> parts = walk_.next(*share.stretch);
    if (parts.empty()) break;
    // To locate them takes no request: only what is done for each call counts.
    if (!runs_ahead() && parts.front().region->view->chain.sharding() == nullptr) most = kChunksAtOnce;
    taken.push_back(std::move(parts));
  }
  if (taken.empty()) return false;
  ++preparing_;
  if (!arrived_.empty()) changed_->notify_one();  // for another worker, while this one is away
  lock.unlock();
  std::vector<ObjectChunks> objects;
  const Status done = guarded([&]() -> Status {
    PENSTOCK_TRY(job_.check());
    join_neighbours(taken);
    for (const auto& parts : taken) {
      PENSTOCK_ASSIGN(ObjectChunks object, ObjectChunks::make(parts));
      objects.push_back(std::move(object));
    }
    return locate(objects);
  });
  lock.lock();
  --preparing_;
  peak_bytes_ = std::max(peak_bytes_, charged_bytes_ + held_bytes_);
  if (done)
    for (ObjectChunks& object : objects) {
      auto shared = std::make_shared<const ObjectChunks>(std::move(object));
      const std::size_t runs = shared->runs().size();
      ready_.push_back({std::move(shared), 0, runs, share.stretch.get()});
    }
  changed_->notify_all();
  if (!done) return done.error();
  return true;
}

/// The chunks of one array together, so that all requests for their indexes are under way at once.
Status ChunkFeed::locate(std::vector<ObjectChunks>& objects) {
  for (std::size_t first = 0, last = 0; first < objects.size(); first = last) {
    const BoundRegion& region = objects[first].region();
    ChunkIds ids(region.rank());
    for (; last < objects.size() && objects[last].region().view == region.view; ++last) objects[last].add_ids(ids);
    std::vector<ChunkRef> refs(ids.size());
    Fetcher fetcher(*region.state->store, job_.worker(), job_.stop(), plan_.traits.requests_in_flight,
                    {plan_.whole_shard_bytes, &held_bytes_});
    PENSTOCK_TRY(locate_chunks(*region.view->index, ids, fetcher, refs));
    std::span<ChunkRef> rest = refs;
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t count = objects[i].chunks().size();
      if (region.discards) check_object(region, rest.first(count));
      objects[i].take_places(rest.first(count), plan_.traits.merge_gap_bytes, plan_.merge_max_bytes);
      rest = rest.subspan(count);
    }
  }
  return {};
}

Result<bool> ChunkFeed::locate_again(const Load& load, const ObjectChunks::Chunk& chunk, const Error& error) {
  // Of a store without versions bytes that cannot be right may be those of another version than the index.
  const bool may_be_mixed = error.code() == ErrorCode::corrupt_data && chunk.ref.state == ChunkRef::State::stored &&
                            !chunk.ref.holder->version.known() && !chunk.ref.holder->whole && load.object->tries == 0;
  if (error.code() != ErrorCode::changed && !may_be_mixed) return false;
  if (load.object->tries + 1 >= kLocateTries) return false;
  load.region().view->index->forget(*chunk.ref.holder);
  const auto number = static_cast<std::size_t>(&chunk - load.object->chunks().data());
  std::vector<ObjectChunks> again;
  again.push_back(load.object->part(number, number + 1));
  again.back().tries += 1;
  PENSTOCK_TRY(locate(again));
  const std::scoped_lock lock(mutex_);
  auto shared = std::make_shared<const ObjectChunks>(std::move(again.back()));
  const std::size_t runs = shared->runs().size();
  ready_.push_front({std::move(shared), 0, runs});
  changed_->notify_all();
  return true;
}

/// Some runs of an object that lies ready: less of it towards its end, so that all workers end together.  Of what
/// another worker is at, the last ones.
bool ChunkFeed::take_share(Share& share, Whose whose) {
  const auto found = std::ranges::find_if(
      ready_, [&](const Ready& r) { return whose == Whose::any || (share.stretch && r.owner == share.stretch.get()); });
  if (found == ready_.end()) return false;
  const std::size_t left = found->last - found->next;
  const std::size_t count = std::clamp<std::size_t>(left / (2 * job_.worker_count()), 1, kMaxShare);
  share.object = found->object;
  if (whose == Whose::own) {
    share.next = std::exchange(found->next, found->next + count);
    share.last = found->next;
  } else {
    share.last = std::exchange(found->last, found->last - count);
    share.next = found->last;
  }
  if (found->next == found->last) ready_.erase(found);
  return true;
}

/// What the window counts a request as.
std::uint64_t ChunkFeed::charge_of(const ObjectChunks& object, std::size_t run) const {
  const auto chunks = object.chunks().subspan(object.runs()[run].first);
  if (chunks.front().ref.state == ChunkRef::State::whole_object) return object.region().encoded_bytes();
  const ChunkRef& last = chunks[object.runs()[run].last - object.runs()[run].first - 1].ref;
  return last.offset_bytes + last.size_bytes - chunks.front().ref.offset_bytes;
}

/// Makes requests of what is located, as far as the window has room, with the lock released meanwhile.
bool ChunkFeed::fetch_more(Lock& lock) {
  Batch* batch = nullptr;
  bool moved = false;
  while (!ready_.empty() && in_flight_ < plan_.traits.requests_in_flight) {
    Ready& front = ready_.front();
    const ObjectChunks& object = *front.object;
    Load load{front.object, object.runs()[front.next]};
    const bool asks = needs_request(load.chunks().front().ref);
    if (asks) {
      load.charged = charge_of(object, front.next);
      if (charged_bytes_ > 0 && load.charged > plan_.window_bytes - std::min(plan_.window_bytes, charged_bytes_)) break;
      if (batch != nullptr && batch->loads.front().region().state->store != object.region().state->store) break;
      if (batch == nullptr) batch = &batches_.emplace_back(*this);
      charged_bytes_ += load.charged;
      peak_bytes_ = std::max(peak_bytes_, charged_bytes_ + held_bytes_);
      in_flight_ += 1;
      const ChunkHolder& holder = *load.chunks().front().ref.holder;
      batch->requests.push_back({holder.key, load.range(), holder.same_as()});
      batch->loads.push_back(std::move(load));
    } else {
      if (const ChunkRef& ref = load.chunks().front().ref; is_there(ref)) {
        load.fetched = true;
        load.answer = ref.holder->whole->bytes->answer();
        load.answer.owner = ref.holder->whole->bytes;
      }
      arrived_.push_back(std::move(load));
    }
    moved = true;
    if (++front.next < front.last) continue;
    // The object stands longer than its bytes are needed, in a wave for example.
    for (const ObjectChunks::Chunk& chunk : object.chunks())
      if (chunk.ref.holder && chunk.ref.holder->whole) chunk.ref.holder->whole->bytes.reset();
    ready_.pop_front();
  }
  if (batch == nullptr) return moved;
  batch->left = batch->loads.size();
  if (!arrived_.empty()) changed_->notify_one();
  lock.unlock();
  batch->loads.front().region().state->store->fetch(batch->requests, *batch, {cancel_requests_});
  lock.lock();
  batch->returned = true;
  std::erase_if(batches_, [](const Batch& b) { return b.left == 0 && b.returned; });
  if (!arrived_.empty()) changed_->notify_all();  // without a request
  return true;
}

void ChunkFeed::arrive(Batch& batch, std::size_t request, FetchAnswer answer) {
  std::shared_ptr<std::condition_variable> changed;
  {
    const std::scoped_lock lock(mutex_);
    Load load = std::move(batch.loads[request]);
    load.fetched = true;
    load.answer = std::move(answer);
    arrived_.push_back(std::move(load));
    in_flight_ -= 1;
    batch.left -= 1;
    changed = changed_;
  }
  // Without the lock, for which who is woken would have to wait; by now this feed may be gone.
  changed->notify_one();  // a load for one worker, who also sees to what it makes room for
}

/// The store does not know the read's own token: the waiting thread checks it.
Status ChunkFeed::wait(Lock& lock) {
  const StageClock clock(job_.worker(), Stage::fetch);
  changed_->wait_for(lock, std::chrono::milliseconds(50));
  return job_.check();
}

Result<bool> ChunkFeed::next(Share& share, Load& load) {
  const auto take = [&] {
    load = Load{share.object, share.object->runs()[share.next++]};
    return true;
  };
  if (share.next < share.last) return take();
  Lock lock(mutex_);
  charged_bytes_ -= load.charged;  // room that this worker sees to below
  share.object = nullptr;
  load = Load();
  const std::uint64_t window = plan_.traits.requests_in_flight;
  for (;;) {
    if (stopped_) return false;
    if (runs_ahead() && fetch_more(lock)) continue;
    if (!runs_ahead() && take_share(share, Whose::own)) return take();
    // Ahead of the workers, one locates before the window runs dry.
    const bool prepares =
        !runs_ahead() || (ready_.empty() && preparing_ == 0 && in_flight_ <= window / 2 && objects_ahead() > 0);
    if (prepares) {
      PENSTOCK_ASSIGN(const bool more, prepare_more(lock, share));
      if (more) continue;
    }
    if (!runs_ahead() && take_share(share, Whose::any)) return take();
    if (!arrived_.empty()) {
      load = std::move(arrived_.front());
      arrived_.pop_front();
      if (load.charged > 0 && !load.answer.absent) {
        job_.worker().requests += 1;
        job_.worker().stored_bytes += load.answer.bytes.size();
      }
      return true;
    }
    if (prepares && preparing_ == 0 && in_flight_ == 0) {
      changed_->notify_all();  // so it is for all of them
      return false;
    }
    PENSTOCK_TRY(wait(lock));
  }
}

}  // namespace penstock
