#include "format/documents.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "format/list.hpp"
#include "format/node.hpp"
#include "store/key.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;  // what is larger is asked for by who wants it

}  // namespace

/// What the store answered.
struct Documents::Document {
  Bytes memory;
  FetchAnswer answer;
};

class Documents::Gather final : public FetchSink {
 public:
  explicit Gather(std::size_t count) : documents_(count), left_(count) {
    for (auto& one : documents_) one = std::make_shared<Document>();
  }
  Result<ByteSpan> room(std::size_t request, std::uint64_t bytes) override {
    if (bytes > kMaxBytes) return Error(ErrorCode::out_of_range, "larger than what is asked for ahead");
    PENSTOCK_TRY(documents_[request]->memory.resize_discard(bytes));
    return documents_[request]->memory.span();
  }
  void done(std::size_t request, FetchAnswer answer) override {
    documents_[request]->answer = std::move(answer);
    const std::scoped_lock lock(mutex_);  // held while notifying: who waits destroys this
    if (--left_ == 0) all_done_.notify_all();
  }
  std::vector<std::shared_ptr<Document>> take() {
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [&] { return left_ == 0; });
    return std::move(documents_);
  }

 private:
  std::vector<std::shared_ptr<Document>> documents_;
  std::mutex mutex_;
  std::condition_variable all_done_;
  std::size_t left_;
};

std::vector<std::string> below_paths(std::string_view path, const std::vector<StoreEntry>& entries) {
  std::vector<std::string> paths;
  for (const StoreEntry& entry : entries)
    if (entry.is_prefix && !entry.name.starts_with(metadata::kOwnNames))
      paths.push_back(metadata::child(path, entry.name));
  return paths;
}

Documents::Documents(const Store& store, const std::vector<std::string>& paths) : store_(store) {
  if (store.traits("").requests_in_flight == 0) return;
  for (const FormatEntry& format : format_list()) {
    std::vector<std::string> keys;
    for (const std::string& path : paths) {
      if (is_node(path)) continue;
      for (const Names names : {format.marks, format.beside})
        for (const std::string_view name : names)
          if (name != ".zmetadata") keys.push_back(metadata::child(path, name));  // says nothing of the node itself
    }
    ask(std::move(keys));
  }
}

bool Documents::is_node(std::string_view path) const {
  for (const FormatEntry& format : format_list())
    for (const std::string_view mark : format.marks) {
      const auto known = documents_.find(metadata::child(path, mark));
      if (known != documents_.end() && !known->second->answer.absent) return true;
    }
  return false;
}

void Documents::ask(std::vector<std::string> keys) {
  if (keys.empty()) return;
  std::vector<FetchRequest> requests;
  for (const std::string& key : keys) requests.push_back({key, {}, nullptr});
  Gather gather(requests.size());
  store_.fetch(requests, gather, {});
  const auto documents = gather.take();
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (documents[i]->answer.status) documents_.emplace(std::move(keys[i]), documents[i]);
}

void Documents::fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const {
  const bool all_known = std::ranges::all_of(requests, [&](const FetchRequest& one) {
    const bool plain = one.range == ByteRange() && one.same_as == nullptr;
    return plain && documents_.find(one.key) != documents_.end();
  });
  if (!all_known) {
    store_.fetch(requests, sink, options);
    return;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::shared_ptr<const Document>& document = documents_.find(requests[i].key)->second;
    FetchAnswer answer = document->answer;
    answer.owner = document;
    sink.done(i, std::move(answer));
  }
}

Result<bool> Documents::exists(std::string_view key) const {
  const auto known = documents_.find(key);
  if (known != documents_.end()) return !known->second->answer.absent;
  return store_.exists(key);
}

Status Documents::set(std::string_view, ByteView) { return read_only_error(url()); }
Status Documents::erase(std::string_view) { return read_only_error(url()); }

}  // namespace penstock
