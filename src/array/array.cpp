// Opening, creating and changing arrays; reading and writing values is in read.cpp and write.cpp.
#include "penstock/array.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/index/make_index.hpp"
#include "array/parents.hpp"
#include "array/state.hpp"
#include "core/guard.hpp"
#include "core/json.hpp"
#include "format/format.hpp"
#include "format/nifti/gunzip_store.hpp"
#include "penstock/zarr.hpp"

namespace penstock {
namespace {

std::string normalised(std::string_view path) {
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return std::string(path);
}

std::string display(const Store& store, std::string_view path) {
  return path.empty() ? store.url() : store.url() + "/" + std::string(path);
}

/// With the index that the dataset asks for, unless one is given.
Result<std::shared_ptr<const ArrayView>> bind(Array::State& state, Dataset dataset,
                                              std::unique_ptr<const ChunkIndex> index = nullptr) {
  const ChunkSpec chunk{dataset.chunk_shape, dataset.dtype, dataset.fill};
  PENSTOCK_ASSIGN(CodecChain chain, CodecChain::make(dataset.codecs, chunk));
  auto view = std::make_shared<ArrayView>(ArrayView{std::move(dataset), std::move(chain)});
  view->index = std::move(index);
  if (!view->index) {
    PENSTOCK_ASSIGN(view->index, make_index(view->dataset, view->chain, state.path, state.indexes));
  }
  return std::shared_ptr<const ArrayView>(std::move(view));
}

/// An array that is not in the store yet, or that nobody asked the store for.
Result<std::shared_ptr<Array::State>> make_state(std::shared_ptr<Store> store, std::string path, Dataset dataset,
                                                 std::unique_ptr<const ChunkIndex> index = nullptr) {
  auto state = std::make_shared<Array::State>();
  const std::string where = display(*store, path);
  state->store = std::move(store);
  state->path = std::move(path);
  PENSTOCK_ASSIGN_IN(state->view, bind(*state, std::move(dataset), std::move(index)), where);
  return state;
}

/// The codecs of an array that is to be created are written with all their members.
Status complete_codecs(Dataset& dataset) {
  const ChunkSpec chunk{dataset.chunk_shape, dataset.dtype, dataset.fill};
  PENSTOCK_ASSIGN(const CodecChain chain, CodecChain::make(dataset.codecs, chunk));
  PENSTOCK_ASSIGN(dataset.codecs, chain.complete(dataset.codecs, dataset.format.version));
  return {};
}

/// Makes room at `path`, or says what is there.  Gives the consolidated metadata that are no longer true.
Result<Consolidated> clear_place(Store& store, const std::string& path, Array::IfExists if_exists) {
  const auto there = read_node(store, path);
  if (!there && there.error().code() == ErrorCode::not_found) return Consolidated();
  if (if_exists == Array::IfExists::fail) {
    // Metadata that cannot be understood are somebody's; whether any are there is not known when they cannot be read.
    const ErrorCode why = there ? ErrorCode::invalid_metadata : there.error().code();
    if (why != ErrorCode::invalid_metadata && why != ErrorCode::unsupported) return there.error();
    const bool group = there && std::holds_alternative<GroupInfo>(*there);
    return Error(ErrorCode::already_exists,
                 fmt::format("{}: {} is there already", display(store, path), group ? "a group" : "an array"))
        .set_hint("Choose another place, or allow overwriting.");
  }
  PENSTOCK_ASSIGN(Consolidated consolidated, Consolidated::drop(store, path));
  PENSTOCK_TRY(store.erase_prefix(path));
  return consolidated;
}

/// Changes the metadata as they stand in the store now, which another handle may have changed since this one was
/// opened.  Gives their lock.
template <class Change>
Result<std::unique_ptr<ObjectLock>> change_metadata(Array::State& state, const CancelToken& cancel,
                                                    const Change& change) {
  Dataset dataset = state.view->dataset;
  std::unique_ptr<ObjectLock> lock;
  if (state.committed) {
    PENSTOCK_ASSIGN(lock, lock_metadata(*state.store, state.path, cancel));
    PENSTOCK_ASSIGN(NodeInfo node, read_node(*state.store, state.path));
    if (!std::holds_alternative<Dataset>(node) || std::get<Dataset>(node).rank() != dataset.rank())
      return Error(ErrorCode::invalid_argument,
                   display(*state.store, state.path) + ": another node was put in the array's place; open it again");
    dataset = std::get<Dataset>(std::move(node));
  }
  change(dataset);
  PENSTOCK_ASSIGN(auto view, bind(state, dataset));
  if (state.committed) PENSTOCK_TRY(write_node(*state.store, state.path, dataset, cancel));
  state.view = std::move(view);
  return lock;
}

Status resize_locked(Array::State& state, const Shape& shape, const CancelToken& cancel) {
  if (shape.size() != state.view->dataset.rank())
    return Error(ErrorCode::invalid_argument, fmt::format("resize: {} dimensions given, the array has {}", shape.size(),
                                                          state.view->dataset.rank()));
  PENSTOCK_TRY(state.check_writable(state.view->dataset));
  // Held to the end: whoever makes the array larger again must not lose what is written there then.
  PENSTOCK_ASSIGN(const auto metadata_lock,
                  change_metadata(state, cancel, [&](Dataset& changed) { changed.shape = shape; }));
  const Dataset& dataset = state.view->dataset;
  // Metadata first: when this is interrupted, chunks that nobody sees are left, and none that is needed is lost.
  const Shape grid = dataset.grid_shape();
  const std::string prefix = state.path.empty() ? "" : state.path + "/";
  PENSTOCK_ASSIGN(const std::vector<std::string> keys, state.store->list(state.path));
  for (const std::string& key : keys) {
    const auto chunk = dataset.keys()->chunk(std::string_view(key).substr(prefix.size()), dataset.rank());
    if (!chunk) continue;
    bool inside = true;
    for (std::size_t i = 0; i < grid.size(); ++i) inside = inside && (*chunk)[i] < grid[i];
    if (!inside) PENSTOCK_TRY(state.store->erase(key));
  }
  return {};
}

}  // namespace

Result<Array> ArrayAccess::with_index(std::shared_ptr<Store> store, std::string_view path, Dataset dataset,
                                      std::unique_ptr<const ChunkIndex> index) {
  PENSTOCK_ASSIGN(auto state, make_state(std::move(store), normalised(path), std::move(dataset), std::move(index)));
  return wrap(std::move(state));
}

Result<const CodecChain*> CroppedChains::get(const Dataset& dataset, const Shape& shape) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<const CodecChain>& chain = chains_[shape];
  if (!chain) {
    PENSTOCK_ASSIGN(CodecChain made, CodecChain::make(dataset.codecs, ChunkSpec{shape, dataset.dtype, dataset.fill}));
    chain = std::make_unique<const CodecChain>(std::move(made));
  }
  return chain.get();
}

Status Array::State::check_writable(const Dataset& dataset) const {
  if (!store->writable()) return Error(ErrorCode::permission_denied, store->url() + " is open for reading only");
  PENSTOCK_TRY_IN(check_can_write(dataset.format), display(*store, path));
  return {};
}

Result<Array> Array::open(std::shared_ptr<Store> store, std::string_view path) {
  const std::string where = normalised(path);
  store = seen_through_gzip(std::move(store), where);
  PENSTOCK_ASSIGN(NodeInfo node, read_node(*store, where));
  if (!std::holds_alternative<Dataset>(node))
    return Error(ErrorCode::invalid_argument, fmt::format("{} is a group, not an array", display(*store, where)))
        .set_hint("Name one of its arrays; `penstock tree` lists them.");
  return with_metadata(std::move(store), where, std::get<Dataset>(std::move(node)));
}

Result<Array> Array::with_metadata(std::shared_ptr<Store> store, std::string_view path, Dataset dataset) {
  PENSTOCK_ASSIGN(auto state, make_state(std::move(store), normalised(path), std::move(dataset)));
  return ArrayAccess::wrap(std::move(state));
}

Result<Array> Array::prepare(std::shared_ptr<Store> store, std::string_view path, Dataset dataset, IfExists if_exists) {
  const std::string where = normalised(path);
  if (!store->writable())
    return Error(ErrorCode::permission_denied, fmt::format("{} is open for reading only", store->url()));
  PENSTOCK_TRY(check_zarr_name(display(*store, where)));
  // Everything that can be wrong with the dataset is found before anything is touched.
  PENSTOCK_TRY_IN(complete_codecs(dataset), display(*store, where));
  PENSTOCK_ASSIGN(auto state, make_state(store, where, std::move(dataset)));
  PENSTOCK_TRY_IN(check_node(state->view->dataset), display(*store, where));
  PENSTOCK_TRY(check_not_below_array(*store, where));
  PENSTOCK_ASSIGN(state->consolidated, clear_place(*store, where, if_exists));
  state->committed = false;
  return ArrayAccess::wrap(std::move(state));
}

Result<Array> Array::create(std::shared_ptr<Store> store, std::string_view path, Dataset dataset, IfExists if_exists) {
  PENSTOCK_ASSIGN(Array array, prepare(std::move(store), path, std::move(dataset), if_exists));
  PENSTOCK_TRY(array.commit());
  return array;
}

Status Array::commit(const CancelToken& cancel) {
  const std::scoped_lock lock(state_->mutex);
  PENSTOCK_TRY(make_parents(*state_->store, state_->path, state_->view->dataset.format.version, cancel));
  PENSTOCK_TRY(write_node(*state_->store, state_->path, state_->view->dataset, cancel));
  state_->committed = true;
  return state_->consolidated.renew(cancel);
}

Dataset Array::dataset() const { return state_->current()->dataset; }
std::shared_ptr<Store> Array::store_ptr() const { return state_->store; }
const std::string& Array::path() const { return state_->path; }
std::shared_ptr<const CodecChain> Array::codecs() const {
  auto view = state_->current();
  return {view, &view->chain};
}

Status Array::resize(const Shape& shape, const CancelToken& cancel) {
  const std::scoped_lock lock(state_->mutex);
  return guarded([&] { return resize_locked(*state_, shape, cancel); });
}

Status Array::set_attributes(std::string_view attributes_json, const CancelToken& cancel) {
  return guarded([&]() -> Status {
    PENSTOCK_ASSIGN_IN(const Json attributes, parse_json(attributes_json), "attributes");
    if (!attributes.is_object()) return Error(ErrorCode::invalid_argument, "attributes must be a JSON object");
    const std::scoped_lock lock(state_->mutex);
    PENSTOCK_TRY(state_->check_writable(state_->view->dataset));
    PENSTOCK_TRY(
        change_metadata(*state_, cancel, [&](Dataset& changed) { changed.attributes = dump_json(attributes); }));
    return {};
  });
}

}  // namespace penstock
