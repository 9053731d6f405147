// Metadata documents of many nodes, asked for together.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/store.hpp"

namespace penstock {

/// A store whose metadata documents of some nodes are in memory: what they are is answered from there, all else by the
/// store around which it is.  Of a store whose requests occupy the thread (traits) nothing is taken into memory: there
/// one after the other costs nothing more, and asks for less.
class Documents final : public Store {
 public:
  /// Asks for the documents of the nodes at `paths`, all requests under way together: those of the first format, then
  /// those of the next one of what was none of the first.
  Documents(const Store& store, const std::vector<std::string>& paths);

  std::string url() const override { return store_.url(); }
  std::string path_taken() const override { return store_.path_taken(); }
  bool writable() const override { return false; }
  std::string identity() const override { return store_.identity(); }
  StoreOptions options() const override { return store_.options(); }
  void fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const override;
  Result<bool> exists(std::string_view key) const override;
  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override { return store_.list_dir(prefix); }
  Status set(std::string_view key, ByteView value) override;
  Status erase(std::string_view key) override;

 private:
  struct Document;
  class Gather;
  void ask(std::vector<std::string> keys);
  /// Whether a document that makes it one is in memory.
  [[nodiscard]] bool is_node(std::string_view path) const;
  const Store& store_;
  std::map<std::string, std::shared_ptr<const Document>, std::less<>> documents_;
};

/// The paths of what may be nodes below `path`, of its listing.
std::vector<std::string> below_paths(std::string_view path, const std::vector<StoreEntry>& entries);

}  // namespace penstock
