// Copying nodes: an array, an array with its pyramid, a group with all that is below it.
#include "copy/tree.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <ranges>
#include <system_error>

#include "array/copy/elements.hpp"
#include "array/parents.hpp"
#include "array/place_claim.hpp"
#include "array/places.hpp"
#include "copy/pyramid.hpp"
#include "copy/raster.hpp"
#include "core/guard.hpp"
#include "core/units.hpp"
#include "format/node.hpp"
#include "format/zarr/consolidated.hpp"
#include "format/zarr/node.hpp"
#include "penstock/cog.hpp"
#include "penstock/zarr.hpp"
#include "store/condition.hpp"
#include "store/file/swap.hpp"

namespace penstock {
namespace {

using metadata::kCopyMarker;

/// Errors: invalid_argument when a copy would read what it writes.
Status check_places(const Node& from, const Store& store, const std::string& path) {
  const auto [source, source_path] =
      std::visit([](const auto& node) { return std::pair(node.store_ptr(), std::string(node.path())); }, from);
  const Places places = compare_places(*source, source_path, store, path);
  if (places == Places::apart) return {};
  return Error(ErrorCode::invalid_argument, places == Places::same
                                                ? "a node cannot be copied onto itself"
                                                : "a node cannot be copied to a place inside or around itself");
}

/// What stands where a copy goes.
struct Standing {
  Bytes marker;
  bool has_marker = false;
  bool has_node = false;  ///< also one whose metadata cannot be read
};
Result<Standing> look_at(const Store& store, const std::string& path) {
  Standing found;
  PENSTOCK_ASSIGN(found.has_marker, store.get(joined(path, kCopyMarker), found.marker));
  const auto node = read_node(store, path);
  found.has_node = node || node.error().code() != ErrorCode::not_found;
  if (node || !found.has_node) return found;
  const ErrorCode why = node.error().code();
  if (why != ErrorCode::invalid_metadata && why != ErrorCode::unsupported) return node.error();
  return found;
}

/// No two copies have the same.
std::string name_of_run() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

/// Whether the marker is still that of this copy.  Errors: already_exists.
Status check_marker(const Store& store, const std::string& path, std::string_view marker) {
  Bytes there;
  PENSTOCK_ASSIGN(const bool marked, store.get(joined(path, kCopyMarker), there));
  if (marked && as_text(there) == marker) return {};
  return Error(ErrorCode::already_exists,
               fmt::format("{}: another copy to this place was begun meanwhile; this one was stopped",
                           joined(store.url(), path)))
      .set_hint("Let one copy end before another is made there.");
}

/// A node in a store.
struct Place {
  std::shared_ptr<Store> store;
  std::string path;
};

class TreeCopy {
 public:
  /// `publish` puts a copy that was written beside its place there; none: it is written in its place.  The groups above
  /// are made in `parents`, where the store is the node's own directory.
  TreeCopy(const TreePlan& plan, std::shared_ptr<Store> store, std::string path, const Options& options,
           std::function<Status()> publish = nullptr, Place parents = {})
      : plan_(plan),
        store_(std::move(store)),
        path_(std::move(path)),
        options_(options),
        publish_(std::move(publish)),
        parents_(parents.store ? std::move(parents) : Place{store_, path_}) {
    report_.operation = "copy";
  }
  /// What it has put into the marker.
  const std::string& marker() const { return marker_; }

  Result<Report> run(Array::IfExists if_exists, Resume resume) {
    const auto start = std::chrono::steady_clock::now();
    PENSTOCK_ASSIGN(total_bytes_, plan_.total_bytes());
    PENSTOCK_ASSIGN(const Standing found, look_at(*store_, path_));
    std::string difference;
    if (found.has_marker && resume == Resume::yes) {
      PENSTOCK_ASSIGN(difference, plan_.difference_from(as_text(found.marker)));
      go_on_ = difference.empty();
    }
    if (!go_on_ && if_exists == Array::IfExists::fail) {
      if (found.has_node && !found.has_marker && resume == Resume::yes) return compare(start);
      PENSTOCK_TRY(refuse_what_stands(found, resume, difference));
    } else if (!go_on_ && found.has_node && !is_archive(*store_)) {
      PENSTOCK_TRY(read_source());
    }
    PENSTOCK_TRY(check_not_below_array(*parents_.store, parents_.path));
    PENSTOCK_TRY(begin(found));
    Status done = write(start);
    if (done) return std::move(report_);
    // Where another copy took the place, that is the reason for whatever went wrong.
    const Status ours = check_ours();
    return !ours && ours.error().code() == ErrorCode::already_exists ? ours.error() : std::move(done).error();
  }

 private:
  std::string place() const { return joined(store_->url(), path_); }
  std::string path_of(const PlannedNode& node) const { return joined(path_, node.path); }

  Status refuse_what_stands(const Standing& found, Resume resume, const std::string& difference) const {
    const auto refuse = [&](std::string what, const char* hint) {
      Error error(ErrorCode::already_exists, fmt::format("{}: {}", place(), what));
      return std::move(error.set_hint(hint));
    };
    if (found.has_marker && resume == Resume::yes)
      return refuse("the copy that was stopped there is another one: " + difference,
                    "Give the same source and options, or allow overwriting.");
    if (found.has_marker) return refuse("holds a copy that was stopped", "Resume it, or allow overwriting.");
    if (found.has_node) {
      const auto node = read_node(*store_, path_);
      const bool group = node && std::holds_alternative<GroupInfo>(*node);
      return refuse(group ? "a group is there already" : "an array is there already",
                    "Choose another place, or allow overwriting.");
    }
    if (resume == Resume::no) return {};
    PENSTOCK_ASSIGN(const auto entries, store_->list_dir(path_));
    if (entries.empty()) return {};
    return refuse("what is there is no copy that could be resumed: it has no " + std::string(kCopyMarker),
                  "Choose another place, or allow overwriting.");
  }

  /// An archive keeps its old members until the new ones are complete.  Elsewhere the source is read first: what cannot
  /// be read must not cost both.
  Status read_source() {
    for (const PlannedNode& node : plan_.nodes)
      if (node.from) PENSTOCK_TRY(read_elements(*node.from, node.region, std::get<Dataset>(node.info), options_));
    return {};
  }

  /// Removes what stands and puts the marker there, unless another copy has done so since `found`.
  Status begin(const Standing& found) {
    marks_ = !is_archive(*store_);
    marker_ = as_text(found.marker);
    if (go_on_) return {};
    PENSTOCK_ASSIGN(marker_, plan_.marker(name_of_run()));
    {
      PENSTOCK_ASSIGN(const auto lock, lock_metadata(*store_, path_, stop_));
      PENSTOCK_ASSIGN(const Standing now, look_at(*store_, path_));
      if (now.has_node != found.has_node || as_text(now.marker) != as_text(found.marker))
        return Error(ErrorCode::already_exists, place() + ": another copy to this place was begun meanwhile")
            .set_hint("Let it end, or choose another place.");
      if (found.has_marker || found.has_node) PENSTOCK_TRY(remove_what_stands());
      if (marks_) PENSTOCK_TRY(store_->set(joined(path_, kCopyMarker), as_bytes(marker_)));
    }
    return {};
  }

  Status remove_what_stands() {
    PENSTOCK_ASSIGN(consolidated_, Consolidated::drop(*store_, path_, stop_));
    for (const char* document : {"zarr.json", ".zarray", ".zgroup"})  // first: no part of it looks like the whole
      PENSTOCK_TRY(store_->erase(joined(path_, document)));
    return store_->erase_prefix(path_);
  }

  Status write(std::chrono::steady_clock::time_point start) {
    for (const PlannedNode& node : plan_.nodes) {
      PENSTOCK_TRY(check_ours());
      if (const auto* dataset = std::get_if<Dataset>(&node.info)) PENSTOCK_TRY(write_elements(node, *dataset));
      PENSTOCK_TRY(write_metadata(node));
    }
    PENSTOCK_TRY(consolidated_.renew(stop_));
    if (publish_) {
      PENSTOCK_TRY(store_->flush());
      PENSTOCK_TRY(publish_());
    }
    if (marks_) PENSTOCK_TRY(store_->erase(joined(path_, kCopyMarker)));
    PENSTOCK_TRY(store_->flush());
    report_.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return {};
  }

  /// The elements of an array, unless its metadata say that they are there.
  Status write_elements(const PlannedNode& node, const Dataset& dataset) {
    const std::string path = path_of(node);
    PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(dataset.shape));
    const std::uint64_t bytes = elements * dataset.dtype.size_bytes;
    if (go_on_) {
      PENSTOCK_ASSIGN(const bool there, is_written(node));
      if (there) {
        PENSTOCK_ASSIGN(level_, Array::open(store_, path));
        done_bytes_ += bytes;
        report_.decoded_bytes += bytes;
        return {};
      }
    }
    PENSTOCK_ASSIGN(Array to, Array::prepare(store_, path, dataset, Array::IfExists::fail));
    Report report;
    if (node.from) {
      Options inner = options_;
      if (options_.progress)
        inner.progress = [&](const Progress& p) { options_.progress({"copy", done_bytes_ + p.done, total_bytes_}); };
      const Resume resume = go_on_ ? Resume::yes : Resume::no;
      auto copied = copy_elements(*node.from, node.region, to, resume, inner);
      if (!copied && !node.path.empty()) copied.error().add_context(node.path);
      PENSTOCK_ASSIGN(report, std::move(copied));
    } else {
      Options inner = options_;
      inner.progress = nullptr;
      PENSTOCK_TRY_IN(make_level(*level_, to, plan_.factors, plan_.how, inner, report), node.path);
    }
    report_.merge(report);
    done_bytes_ += bytes;
    if (options_.progress) options_.progress({"copy", done_bytes_, total_bytes_});
    level_ = std::move(to);
    return {};
  }

  /// Whether an array's metadata are there: they were written after its elements.
  Result<bool> is_written(const PlannedNode& node) const {
    const std::string path = path_of(node);
    const auto there = read_node(*store_, path);
    if (!there && there.error().code() == ErrorCode::not_found) return false;
    if (!there) return there.error();
    PENSTOCK_ASSIGN(const std::string difference, node_difference(node.info, *there));
    if (difference.empty()) return true;
    return Error(ErrorCode::already_exists, fmt::format("{}: {}", joined(store_->url(), path), difference))
        .set_hint("It was changed after the copy was stopped; allow overwriting, or copy to another place.");
  }

  [[nodiscard]] Status check_ours() const { return marks_ ? check_marker(*store_, path_, marker_) : Status(); }

  /// The documents of a node; those of groups above the copy when the copy itself is there.
  Status write_metadata(const PlannedNode& node) {
    const bool is_root = &node == &plan_.nodes.back();
    const std::string path = path_of(node);
    Consolidated above;
    std::unique_ptr<ObjectLock> lock;  // from the look at the marker until the copy is there
    if (is_root) {
      PENSTOCK_ASSIGN(lock, lock_metadata(*store_, path_, stop_));
      PENSTOCK_TRY(check_ours());
    }
    if (is_root && !publish_) {
      const int zarr_format = std::visit([](const auto& info) { return info.format.version; }, node.info);
      PENSTOCK_TRY(make_parents(*parents_.store, parents_.path, zarr_format, stop_));
      PENSTOCK_ASSIGN(above, Consolidated::drop(*store_, path_, stop_));
    }
    const auto* group = std::get_if<GroupInfo>(&node.info);
    PENSTOCK_TRY(group != nullptr && node.consolidated ? write_consolidated(*store_, path, *group)
                                                       : metadata::write_documents(*store_, path, node.info));
    return above.renew(stop_);
  }

  Error another(const PlannedNode& node, const std::string& difference) const {
    Error error(ErrorCode::already_exists, fmt::format("{}: what is there is not this copy: {}",
                                                       joined(store_->url(), path_of(node)), difference));
    return std::move(error.set_hint("Give the same source and options, copy to another place, or allow overwriting."));
  }

  /// What stands is complete: is it what was asked for?  First what is quick to tell, of the copy itself before what is
  /// below it.
  Result<Report> compare(std::chrono::steady_clock::time_point start) {
    for (const PlannedNode& node : std::views::reverse(plan_.nodes)) {
      const auto there = read_node(*store_, path_of(node));
      if (!there) return another(node, there.error().message());
      PENSTOCK_ASSIGN(const std::string difference, node_difference(node.info, *there));
      if (!difference.empty()) return another(node, difference);
    }
    for (const PlannedNode& node : plan_.nodes) {
      if (!node.from) continue;
      PENSTOCK_ASSIGN(const Array to, Array::open(store_, path_of(node)));
      PENSTOCK_ASSIGN(const auto differs, differing_element(*node.from, node.region, to, options_));
      if (differs) return another(node, fmt::format("element {} is not the source's", to_string(*differs)));
    }
    report_.note = "complete already; nothing to do";
    report_.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

  const TreePlan& plan_;
  std::shared_ptr<Store> store_;
  const std::string path_;
  const Options& options_;
  const CancelToken stop_ = options_.stop();
  const std::function<Status()> publish_;
  const Place parents_;
  std::string marker_;
  bool marks_ = true;
  bool go_on_ = false;         // with a copy that was stopped
  Consolidated consolidated_;  // of what was removed
  std::optional<Array> level_;
  std::uint64_t total_bytes_ = 0, done_bytes_ = 0;
  Report report_;
};

/// Whether what was begun at a place is this copy.
Result<bool> is_this_copy(const Store& store, const std::string& path, const TreePlan& plan) {
  Bytes marker;
  PENSTOCK_ASSIGN(const bool marked, store.get(joined(path, kCopyMarker), marker));
  if (!marked) return false;
  PENSTOCK_ASSIGN(const std::string difference, plan.difference_from(as_text(marker)));
  return difference.empty();
}

/// Locks the name of the directory beside another: for who takes away what was begun there, or puts it in place.
struct BesideLock {
  std::shared_ptr<Store> parent;
  std::unique_ptr<ObjectLock> lock;

  static Result<BesideLock> of(const std::string& beside, const StoreOptions& how, const CancelToken& cancel) {
    const std::filesystem::path path(beside);
    BesideLock held;
    PENSTOCK_ASSIGN(held.parent, open_store(path.parent_path().string(), StoreMode::read_write, how));
    PENSTOCK_ASSIGN(held.lock, held.parent->lock(path.filename().string(), LockUse::change, not_cancelled(cancel)));
    return held;
  }
};

/// Makes the directory beside, unless this copy was begun in it: one that another copy works in is moved away as a
/// whole, so that what it still writes comes nowhere.
Result<std::shared_ptr<Store>> open_beside(const std::string& beside, const TreePlan& plan, const CopyOptions& how,
                                           const CancelToken& cancel) {
  PENSTOCK_ASSIGN(const BesideLock lock, BesideLock::of(beside, how.store, cancel));
  std::error_code error;
  if (std::filesystem::exists(beside, error)) {
    PENSTOCK_ASSIGN(const auto there, open_store(beside, StoreMode::read, how.store));
    PENSTOCK_ASSIGN(const bool begun, is_this_copy(*there, "", plan));
    if (!begun || how.resume == Resume::no) {
      const std::string gone = beside + "-" + name_of_run();
      std::filesystem::rename(beside, gone, error);
      if (!error) std::filesystem::remove_all(gone, error);
    }
  }
  if (error) return Error(ErrorCode::io_error, beside + ": " + error.message()).set_errno(error.value());
  return open_store(beside, StoreMode::create, how.store);
}

/// Writes the copy beside the directory that it replaces.
Result<Report> copy_beside(const TreePlan& plan, DirectorySwap swap, const CopyOptions& how, const Options& options) {
  const CancelToken stop = options.stop();
  PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_beside(swap.beside(), plan, how, stop));
  const Durable durable = store->options().durable.value_or(Durable::none);
  const TreeCopy* running = nullptr;
  const auto publish = [&]() -> Status {
    Consolidated above;
    PENSTOCK_TRY(above.drop_above(swap.beside(), store->options(), stop));
    {
      PENSTOCK_ASSIGN(const BesideLock lock, BesideLock::of(swap.beside(), how.store, stop));
      PENSTOCK_ASSIGN(const auto there, open_store(swap.beside(), StoreMode::read, how.store));
      PENSTOCK_TRY(check_marker(*there, "", running->marker()));
      PENSTOCK_TRY(swap.exchange(durable));
    }
    return above.renew(stop);
  };
  TreeCopy copy(plan, store, "", options, publish);
  running = &copy;
  PENSTOCK_ASSIGN(Report report, copy.run(Array::IfExists::fail, how.resume));
  PENSTOCK_TRY(swap.remove_old(durable));
  return report;
}

/// What a copy to a place replaces.
struct Replaced {
  std::optional<DirectorySwap> beside;  ///< where the copy is written first; nullopt: it is written in its place
  std::string leftover;  ///< the directory of an earlier exchange that was killed before the old one went
};
Result<Replaced> what_is_replaced(const Node& from, const std::string& url, const std::string& path,
                                  const TreePlan& plan, const CopyOptions& how) {
  Replaced replaced;
  if (how.if_exists != Array::IfExists::overwrite) return replaced;
  const auto store = open_store(url, StoreMode::read, how.store);
  std::error_code error;
  if (!store || !std::filesystem::is_directory((*store)->url(), error)) return replaced;
  PENSTOCK_TRY(check_places(from, **store, path));
  PENSTOCK_ASSIGN(const Standing found, look_at(**store, path));
  if (!found.has_node && !found.has_marker) return replaced;
  PENSTOCK_ASSIGN(const bool begun, is_this_copy(**store, path, plan));
  auto swap = DirectorySwap::of(joined((*store)->url(), path));
  if (begun && how.resume == Resume::yes)
    replaced.leftover = swap ? swap->beside() : "";
  else
    replaced.beside = std::move(swap);
  return replaced;
}

std::string trimmed(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

Result<Report> copy_to_url(const Node& from, const std::string& url, std::string_view path, const CopyOptions& how,
                           const Options& options) {
  const std::string where = trimmed(path);
  PENSTOCK_TRY(check_zarr_name(joined(url, where)));
  PENSTOCK_ASSIGN(const TreePlan plan, plan_tree(from, how));
  PENSTOCK_ASSIGN(Replaced replaced, what_is_replaced(from, url, where, plan, how));
  if (replaced.beside) return copy_beside(plan, *std::move(replaced.beside), how, options);
  PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(url, StoreMode::create, how.store));
  PENSTOCK_TRY(check_places(from, *store, where));
  std::error_code error;
  Place own{store, where};
  if (!where.empty() && std::filesystem::is_directory(store->url(), error) && how.store.links != Links::inside) {
    // Once another copy has put its directory in the place of this one's, what is still written here comes nowhere.
    PENSTOCK_TRY(check_not_below_array(*store, where));
    PENSTOCK_ASSIGN(own.store, open_store(joined(store->url(), where), StoreMode::create, how.store));
    own.path.clear();
  }
  TreeCopy copy(plan, own.store, own.path, options, nullptr, {store, where});
  PENSTOCK_ASSIGN(Report report, copy.run(how.if_exists, how.resume));
  if (!replaced.leftover.empty()) std::filesystem::remove_all(replaced.leftover, error);
  if (!error) return report;
  return Error(ErrorCode::io_error,
               fmt::format("{}: {}; the copy itself is complete", replaced.leftover, error.message()))
      .set_errno(error.value());
}

Result<Report> copy_to_store(const Node& from, const std::shared_ptr<Store>& to_store, std::string_view to_path,
                             const CopyOptions& how, const Options& options) {
  const std::string where = trimmed(to_path);
  PENSTOCK_ASSIGN(const TreePlan plan, plan_tree(from, how));
  PENSTOCK_TRY(check_places(from, *to_store, where));
  return TreeCopy(plan, to_store, where, options).run(how.if_exists, how.resume);
}

}  // namespace

Result<Report> copy(const Node& from, const std::string& url, std::string_view path, const CopyOptions& how,
                    const Options& options) {
  if (path.empty() && names_raster(url)) return copy_to_raster(from, url, how, options);
  return guarded([&] { return copy_to_url(from, url, path, how, options); });
}

Result<Report> copy(const Node& from, const std::shared_ptr<Store>& to_store, std::string_view to_path,
                    const CopyOptions& how, const Options& options) {
  return guarded([&] { return copy_to_store(from, to_store, to_path, how, options); });
}

Result<Report> copy(const Array& from, std::shared_ptr<Store> to_store, std::string_view to_path,
                    const CopyChanges& changes, Array::IfExists if_exists, Resume resume, const Options& options) {
  const auto given = [&](const Dataset&) { return Result(changes); };
  return copy(Node(from), to_store, to_path, {given, std::nullopt, std::nullopt, if_exists, resume, {}}, options);
}

Result<Report> copy_alone(const Array& from, const std::shared_ptr<Store>& to_store, const std::string& to_path,
                          Array::IfExists if_exists, const Options& options) {
  const Dataset dataset = from.dataset();
  PENSTOCK_ASSIGN(Array to, Array::prepare(to_store, to_path, dataset, if_exists));
  return copy_elements(from, whole(dataset.shape), to, Resume::no, options);
}

}  // namespace penstock
