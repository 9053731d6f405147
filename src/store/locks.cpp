#include "store/locks.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_set>

namespace penstock {
namespace {

/// Names that are held.  Several tables, so that threads with different names seldom meet.
struct Table {
  std::mutex mutex;
  std::condition_variable freed;
  std::unordered_set<std::string> held;
};

Table& table_of(const std::string& name) {
  static auto& tables = *new std::array<Table, 64>;  // never destroyed: threads may hold locks when the process ends
  return tables[std::hash<std::string>{}(name) % tables.size()];
}

class ProcessLock final : public ObjectLock {
 public:
  ProcessLock(Table& table, std::string name) : table_(table), name_(std::move(name)) {}
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;
  /// Whether the name is this lock's now.  Locked by the caller.
  bool try_hold() { return held_ = table_.held.insert(name_).second; }
  ~ProcessLock() override {
    if (!held_) return;
    {
      const std::scoped_lock lock(table_.mutex);
      table_.held.erase(name_);
    }
    table_.freed.notify_all();
  }

 private:
  Table& table_;
  std::string name_;
  bool held_ = false;
};

}  // namespace

Result<std::unique_ptr<ObjectLock>> lock_in_process(std::string name, const std::function<Status()>& check) {
  constexpr std::chrono::milliseconds kAskEvery{20};
  Table& table = table_of(name);
  auto made = std::make_unique<ProcessLock>(table, std::move(name));  // first: a name that is held must have its owner
  std::unique_lock lock(table.mutex);
  while (!made->try_hold()) {
    if (table.freed.wait_for(lock, kAskEvery) == std::cv_status::no_timeout) continue;
    lock.unlock();
    PENSTOCK_TRY(check());
    lock.lock();
  }
  lock.unlock();
  return std::unique_ptr<ObjectLock>(std::move(made));
}

}  // namespace penstock
