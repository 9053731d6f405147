#include "array/tiles/walk.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/guard.hpp"
#include "exec/budget.hpp"

namespace penstock {
namespace {

/// Memory for a box, used again and again.
struct Place {
  Buffer buffer;
  TensorView view;
  Region box;
  std::unique_ptr<Arena> arena;
};

/// Numbers of the tiles that have passed a stage; stages wait for each other by them.
class Turns {
 public:
  /// Waits until `passed` of the stage is more than `tile`; false: the walk has stopped.
  bool wait(const std::uint64_t& passed, std::uint64_t tile) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || passed > tile; });
    return !stopped_;
  }
  void pass(std::uint64_t& passed) {
    const std::scoped_lock lock(mutex_);
    ++passed;
    changed_.notify_all();
  }
  void stop(Error error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = std::move(error);
    stopped_ = true;
    changed_.notify_all();
  }
  std::optional<Error> take_error() { return std::move(error_); }

  std::uint64_t read = 0, made = 0, written = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::optional<Error> error_;
};

class Walk {
 public:
  Walk(const TileWork& work, const TilePlan& plan, const TileSteps& steps, Device device, const Options& options)
      : work_(work), plan_(plan), steps_(steps), device_(device), options_(options), stop_(options.stop()) {}

  Result<Report> run() {
    const auto start = std::chrono::steady_clock::now();
    PENSTOCK_TRY(set_up());
    const std::uint64_t count = plan_.tiles.size();
    if (overlaps_ && count > 1)
      run_together(count);
    else
      for (std::uint64_t i = 0; i < count && go_on(read(i)) && go_on(make(i)) && go_on(write(i)); ++i) {
      }
    if (auto error = turns_.take_error()) return *std::move(error);
    Report report = read_report_;
    if (steps_.write) {
      Report part = write_report_;
      part.written = {part.chunks, part.absent_chunks, part.requests, part.stored_bytes};
      report.merge(part);
    }
    report.decoded_bytes = plan_.read_bytes;
    report.operation = work_.what;
    report.budget_bytes = plan_.budget_bytes;
    report.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::uint64_t io = read_report_.peak_host_bytes + write_report_.peak_host_bytes;
    report.peak_host_bytes = io + (device_.type == Device::Type::cpu ? held_ : 0);
    if (device_.type != Device::Type::cpu)
      report.peak_device_bytes = held_ + read_report_.peak_device_bytes + write_report_.peak_device_bytes;
    return report;
  }

 private:
  Status set_up() {
    PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options_, 0));
    overlaps_ = allowed.threads > 1;
    const std::uint64_t rest = plan_.budget_bytes - std::min(plan_.held_bytes, plan_.budget_bytes / 2);
    io_ = options_;
    io_.budget_bytes = std::max<std::uint64_t>(work_.writes ? rest / 2 : rest, 1);
    io_.progress = nullptr;
    PENSTOCK_ASSIGN(memory_, working_memory(device_, options_));
    if (device_.type != Device::Type::cpu)
      for (Stream& stream : streams_) {
        PENSTOCK_ASSIGN(stream, Stream::create(device_));
      }
    const std::size_t places = plan_.tiles.size() > 1 ? 2 : 1;
    for (std::size_t k = 0; k < places; ++k) {
      PENSTOCK_ASSIGN(in_[k].buffer, memory_->allocate(std::max<std::uint64_t>(plan_.in_bytes, 1), 256, streams_[0]));
      if (work_.makes) {
        PENSTOCK_ASSIGN(out_[k].buffer,
                        memory_->allocate(std::max<std::uint64_t>(plan_.out_bytes, 1), 256, streams_[1]));
      }
    }
    held_ = places * (plan_.in_bytes + plan_.out_bytes) + plan_.scratch_bytes;
    return {};
  }

  /// Reading in a thread, writing in another, the work here.
  void run_together(std::uint64_t count) {
    std::thread reader, writer;
    const auto every = [&](const auto& step) {
      for (std::uint64_t i = 0; i < count; ++i)
        if (!go_on(guarded([&] { return step(i); }))) return;
    };
    const auto read_all = [&] {
      every([&](std::uint64_t i) -> Status {
        // Its memory is that of tile i - 2, whose halo tile i - 1 took.
        if (i >= 2 && !turns_.wait(work_.makes ? turns_.made : turns_.written, i - 2)) return stopped();
        PENSTOCK_TRY(read(i));
        turns_.pass(turns_.read);
        return {};
      });
    };
    const auto write_all = [&] {
      every([&](std::uint64_t i) -> Status {
        if (!turns_.wait(turns_.made, i)) return stopped();
        PENSTOCK_TRY(write(i));
        turns_.pass(turns_.written);
        return {};
      });
    };
    try {
      reader = std::thread(read_all);
      writer = std::thread(write_all);
    } catch (const std::system_error&) {
      turns_.stop(Error(ErrorCode::out_of_memory, "no thread"));
    }
    every([&](std::uint64_t i) -> Status {
      if (!turns_.wait(turns_.read, i)) return stopped();
      if (i >= 2 && work_.makes && !turns_.wait(turns_.written, i - 2)) return stopped();
      PENSTOCK_TRY(make(i));
      turns_.pass(turns_.made);
      return {};
    });
    if (reader.joinable()) reader.join();
    if (writer.joinable()) writer.join();
  }

  static Status stopped() { return Error(ErrorCode::cancelled, "another stage failed"); }
  bool go_on(const Status& status) {
    if (!status) turns_.stop(status.error());
    return status.has_value();
  }

  /// Tile i is left out.  Asked by the reader, before anyone else sees the tile.
  Result<bool> skipped(std::uint64_t i) {
    if (!steps_.skip) return false;
    return steps_.skip(plan_.tiles[i]);
  }

  Status read(std::uint64_t i) {
    PENSTOCK_TRY(stop_.check(work_.what));
    Place& place = in_[i % 2];
    const TilePlan::Box box = plan_.box(work_, i);
    PENSTOCK_ASSIGN(place.view,
                    TensorView::packed(place.buffer.data(), work_.in_dtype, shape_of(box.whole), streams_[0]));
    place.box = box.whole;
    place.arena = work_.in_dtype.is_vlen() ? std::make_unique<Arena>() : nullptr;
    PENSTOCK_ASSIGN(skip_[i % kSkips], skipped(i));
    if (skip_[i % kSkips]) return {};
    Region fresh = box.fresh;
    if (fresh != box.whole && (i == 0 || skip_[(i - 1) % kSkips])) fresh = box.whole;  // no one before it
    if (fresh != box.whole) PENSTOCK_TRY(take_halo(place, in_[(i + 1) % 2], box));
    PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(shape_of(fresh)));
    if (elements == 0) return {};
    TensorView target = place.view;
    if (fresh != box.whole) {
      PENSTOCK_ASSIGN(target, part_of_box(place.view, box.whole, fresh));
    }
    PENSTOCK_ASSIGN(const Report report, steps_.read(fresh, {target, place.arena.get()}, io_));
    PENSTOCK_TRY(streams_[0].synchronize());
    add(read_report_, report);
    return {};
  }

  /// What the tile before has of this one's box.
  static Status take_halo(const Place& place, const Place& before, const TilePlan::Box& box) {
    Region halo = box.whole;
    for (std::size_t d = 0; d < halo.size(); ++d)
      if (box.fresh[d] != box.whole[d]) halo[d].count = box.fresh[d].start - box.whole[d].start;
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape_of(halo)));
    if (count == 0) return {};
    PENSTOCK_ASSIGN(const TensorView from, part_of_box(before.view, before.box, halo));
    PENSTOCK_ASSIGN(const TensorView to, part_of_box(place.view, place.box, halo));
    return copy_elements(from, to);
  }

  Status make(std::uint64_t i) {
    PENSTOCK_TRY(stop_.check(work_.what));
    if (skip_[i % kSkips] || !steps_.make) return {};
    const Region tile = plan_.tiles[i];
    const Place& in = in_[i % 2];
    Place& out = out_[i % 2];
    if (work_.makes) {
      PENSTOCK_ASSIGN(out.view, TensorView::packed(out.buffer.data(), work_.out_dtype, shape_of(tile), streams_[1]));
    }
    TensorView source = in.view;
    source.stream = streams_[1];
    PENSTOCK_TRY(steps_.make(i, in.box, source, tile, out.view));
    return streams_[1].synchronize();
  }

  Status write(std::uint64_t i) {
    PENSTOCK_TRY(stop_.check(work_.what));
    const Region tile = plan_.tiles[i];
    if (steps_.write && !skip_[i % kSkips]) {
      PENSTOCK_ASSIGN(TensorView source, made(i));
      source.stream = streams_[2];
      PENSTOCK_ASSIGN(const Report report, steps_.write(tile, source, io_));
      PENSTOCK_TRY(streams_[2].synchronize());
      add(write_report_, report);
    }
    PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(shape_of(tile)));
    PENSTOCK_ASSIGN(const std::uint64_t all, element_count(work_.out_shape));
    done_ += elements * work_.out_dtype.size_bytes;
    if (options_.progress) options_.progress({work_.what, done_, all * work_.out_dtype.size_bytes});
    return {};
  }

  /// The elements of tile i.
  [[nodiscard]] Result<TensorView> made(std::uint64_t i) const {
    if (work_.makes) return out_[i % 2].view;
    const Place& in = in_[i % 2];
    const Region box = work_.needs(plan_.tiles[i]);
    if (box == in.box) return in.view;
    return part_of_box(in.view, in.box, box);  // whole chunks were read
  }

  static void add(Report& sum, const Report& part) {
    const std::uint64_t decoded = sum.decoded_bytes + part.decoded_bytes;
    sum.merge(part);
    sum.decoded_bytes = decoded;
  }

  const TileWork& work_;
  const TilePlan& plan_;
  const TileSteps& steps_;
  Device device_;
  const Options& options_;
  CancelToken stop_;
  Options io_;
  bool overlaps_ = false;
  std::shared_ptr<Memory> memory_;
  std::array<Stream, 3> streams_;  // of reading, work and writing
  std::array<Place, 2> in_, out_;
  /// More than two: the reader runs ahead of the consumers.
  static constexpr std::size_t kSkips = 4;
  std::array<bool, kSkips> skip_{};
  Turns turns_;
  Report read_report_, write_report_;
  std::uint64_t held_ = 0, done_ = 0;
};

}  // namespace

Result<TensorView> part_of_box(const TensorView& whole, const Region& box, const Region& part) {
  std::vector<Index> indices;
  for (std::size_t d = 0; d < box.size(); ++d) {
    const auto start = static_cast<std::int64_t>(part[d].start - box[d].start);
    indices.push_back(Slice{start, start + static_cast<std::int64_t>(part[d].count), 1});
  }
  return whole.slice(indices);
}

Result<Report> walk_tiles(const TileWork& work, const TilePlan& plan, const TileSteps& steps, Device device,
                          const Options& options) {
  return guarded([&] { return Walk(work, plan, steps, device, options).run(); });
}

}  // namespace penstock
