// A store around a store that fails, lingers or lies as told, for the tests of every stage.
#pragma once
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "store/blocking_store.hpp"

namespace penstock::test {

/// Members of Store at which a fault can happen; `read` is a read of an opened object (fetch and get open and read).
enum class StoreOp : std::uint8_t { open, read, set, erase, list, flush };
inline constexpr std::size_t kStoreOps = 6;

/// What happens at some calls.
struct Fault {
  StoreOp op = StoreOp::open;
  std::string keys = "*";  ///< shell pattern; '*' matches '/' too
  int skip = 0;            ///< so many matching calls pass first
  int times = -1;          ///< so many fail; -1: all that follow
  // What it is; several may be given.
  std::optional<ErrorCode> error = {};           ///< the call fails
  std::optional<std::uint64_t> only_bytes = {};  ///< open: the object is this short
  bool vanishes = false;                         ///< open: the key is absent
  std::chrono::microseconds delay{0};            ///< the call lingers first
};

class FaultStore final : public BlockingStore {
 public:
  explicit FaultStore(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}

  /// From now on.  Of several faults that match a call all are counted, the first that is due decides.
  void add(Fault fault) {
    const std::scoped_lock lock(mutex_);
    faults_.push_back({std::move(fault), 0});
  }
  void clear() {
    const std::scoped_lock lock(mutex_);
    faults_.clear();
  }
  /// Calls so far, failed ones too.
  [[nodiscard]] std::uint64_t calls(StoreOp op) const { return calls_[static_cast<std::size_t>(op)]; }
  /// Bytes that reads of objects asked for, and the most reads under way at once.
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }
  [[nodiscard]] int max_reads_at_once() const { return max_reads_; }

  std::string url() const override { return inner_->url(); }
  std::string path_taken() const override { return inner_->path_taken() + ", with faults"; }
  bool writable() const override { return inner_->writable(); }
  /// As a store would that answers slowly.
  void set_merge_gap(std::uint64_t bytes) { merge_gap_bytes_ = bytes; }
  StoreTraits traits(std::string_view key) const override {
    StoreTraits traits = inner_->traits(key);
    traits.merge_gap_bytes = merge_gap_bytes_.value_or(traits.merge_gap_bytes);
    return traits;
  }

  Result<std::unique_ptr<Object>> open(std::string_view key) const override {
    const Fault fault = due(StoreOp::open, key);
    if (fault.error) return failure(*fault.error, "open", key);
    if (fault.vanishes) return std::unique_ptr<Object>();
    PENSTOCK_ASSIGN(std::unique_ptr<Object> object, dynamic_cast<const BlockingStore&>(*inner_).open(key));
    if (object == nullptr) return object;
    return std::unique_ptr<Object>(new FaultObject(*this, std::string(key), std::move(object), fault.only_bytes));
  }
  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override {
    if (const Fault fault = due(StoreOp::list, prefix); fault.error) return failure(*fault.error, "list", prefix);
    return inner_->list_dir(prefix);
  }
  Result<std::vector<std::string>> list(std::string_view prefix) const override {
    if (const Fault fault = due(StoreOp::list, prefix); fault.error) return failure(*fault.error, "list", prefix);
    return inner_->list(prefix);
  }
  Status set(std::string_view key, ByteView value) override { return set_parts(key, {&value, 1}); }
  Status set_parts(std::string_view key, std::span<const ByteView> parts) override {
    if (const Fault fault = due(StoreOp::set, key); fault.error) return failure(*fault.error, "set", key);
    return inner_->set_parts(key, parts);
  }
  Status erase(std::string_view key) override {
    if (const Fault fault = due(StoreOp::erase, key); fault.error) return failure(*fault.error, "erase", key);
    return inner_->erase(key);
  }
  Status erase_prefix(std::string_view prefix) override {
    if (const Fault fault = due(StoreOp::erase, prefix); fault.error) return failure(*fault.error, "erase", prefix);
    return inner_->erase_prefix(prefix);
  }
  Status flush() override {
    if (const Fault fault = due(StoreOp::flush, ""); fault.error) return failure(*fault.error, "flush", "");
    return inner_->flush();
  }

 private:
  class FaultObject final : public Object {
   public:
    FaultObject(const FaultStore& store, std::string key, std::unique_ptr<Object> inner,
                std::optional<std::uint64_t> only_bytes)
        : store_(store),
          key_(std::move(key)),
          inner_(std::move(inner)),
          size_(std::min(inner_->size_bytes(), only_bytes.value_or(~std::uint64_t{0}))) {}
    std::uint64_t size_bytes() const override { return size_; }
    std::uint64_t version() const override { return inner_->version(); }
    Status read(std::uint64_t offset_bytes, ByteSpan into) const override {
      const int now = ++store_.reads_;
      for (int most = store_.max_reads_; now > most && !store_.max_reads_.compare_exchange_weak(most, now);) {
      }
      store_.bytes_read_ += into.size();
      const Fault fault = store_.due(StoreOp::read, key_);
      --store_.reads_;
      if (fault.error) return failure(*fault.error, "read", key_);
      if (offset_bytes > size_ || into.size() > size_ - offset_bytes)
        return Error(ErrorCode::corrupt_data, key_ + ": the object has " + std::to_string(size_) + " bytes");
      return inner_->read(offset_bytes, into);
    }

   private:
    const FaultStore& store_;
    std::string key_;
    std::unique_ptr<Object> inner_;
    std::uint64_t size_;
  };

  static Error failure(ErrorCode code, const char* op, std::string_view key) {
    return {code, std::string(key) + ": injected fault in " + op + " (" + std::string(error_meaning(code)) + ")"};
  }

  /// The fault of this call, empty for none; its delay has passed already.
  Fault due(StoreOp op, std::string_view key) const {
    ++calls_[static_cast<std::size_t>(op)];
    Fault now;
    {
      const std::scoped_lock lock(mutex_);
      bool decided = false;
      for (auto& [fault, seen] : faults_) {
        if (fault.op != op || ::fnmatch(fault.keys.c_str(), std::string(key).c_str(), 0) != 0) continue;
        const int index = seen++;
        if (decided || index < fault.skip || (fault.times >= 0 && index >= fault.skip + fault.times)) continue;
        now = fault;
        decided = true;
      }
    }
    if (now.delay.count() > 0) std::this_thread::sleep_for(now.delay);
    return now;
  }

  struct Counted {
    Fault fault;
    int seen = 0;
  };
  std::shared_ptr<Store> inner_;
  std::optional<std::uint64_t> merge_gap_bytes_;
  mutable std::mutex mutex_;  // guards faults_
  mutable std::deque<Counted> faults_;
  mutable std::array<std::atomic<std::uint64_t>, kStoreOps> calls_{};
  mutable std::atomic<std::uint64_t> bytes_read_{0};
  mutable std::atomic<int> reads_{0}, max_reads_{0};
};

}  // namespace penstock::test
