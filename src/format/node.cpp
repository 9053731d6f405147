// Nodes of a hierarchy in a store.
#include "format/node.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "format/documents.hpp"
#include "format/list.hpp"
#include "format/members.hpp"
#include "store/fetch_one.hpp"

namespace penstock {
namespace metadata {
namespace {

// Consolidated metadata of a large hierarchy is some 100 MB; a chunk that lies at a metadata key may be any size.
constexpr std::uint64_t kMaxDocumentBytes = std::uint64_t{1} << 30;

}  // namespace

std::string child(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}/{}", path, name);
}

Result<std::optional<std::string>> read_text(const Store& store, std::string_view path, std::string_view name) {
  const std::string key = child(path, name);
  const auto fits = [&](std::uint64_t bytes) -> Status {
    if (bytes <= kMaxDocumentBytes) return {};
    return invalid(key, fmt::format("{} bytes; metadata are at most {}", bytes, kMaxDocumentBytes));
  };
  Bytes text;
  const FetchAnswer answer = fetch_one(store, {key, {}, nullptr}, text, fits);
  PENSTOCK_TRY(answer.status);
  if (answer.absent) return std::optional<std::string>();
  return std::optional(std::string(as_text(text)));
}

std::string where(const Store& store, std::string_view key) {
  return key.empty() ? store.url() : fmt::format("{}/{}", store.url(), key);
}

}  // namespace metadata

namespace {

bool ends_as(std::string_view path, const FormatEntry& format) {
  return std::ranges::any_of(format.suffixes, [&](std::string_view suffix) { return path.ends_with(suffix); });
}

Error no_node(const Store& store, std::string_view path, std::span<const FormatEntry> formats) {
  const bool names_a_file =
      std::ranges::any_of(formats, [&](const FormatEntry& format) { return ends_as(path, format); });
  if (names_a_file) return {ErrorCode::not_found, fmt::format("{}: no such file", metadata::where(store, path))};
  std::string marks;
  for (const FormatEntry& format : formats)
    for (const std::string_view mark : format.marks)
      if (mark != ".zmetadata") marks += fmt::format("{}{}", marks.empty() ? "" : ", ", mark);
  return Error(ErrorCode::not_found, fmt::format("{}: no zarr array or group here", metadata::where(store, path)))
      .set_hint(fmt::format("none of {} is there; `penstock tree` lists what a store holds", marks));
}

/// The row that writes nodes of a format.
Result<const FormatEntry*> writer_of(const FormatInfo& info) {
  for (const FormatEntry& format : format_list())
    if (format.name == info.name && format.write != nullptr) return &format;
  return Error(ErrorCode::unsupported, fmt::format("{} files are read, not written", format_title(info)))
      .set_hint("`penstock copy` makes a zarr array of one.");
}

const FormatInfo& format_of(const NodeInfo& node) {
  return std::visit([](const auto& info) -> const FormatInfo& { return info.format; }, node);
}

}  // namespace

Result<const Candidate::Head*> Candidate::head() {
  if (asked_ || path_.empty()) return head_ ? &*head_ : nullptr;
  FetchAnswer answer = probe(store_, path_);
  asked_ = true;
  if (!answer.status && answer.status.error().code() == ErrorCode::is_directory) return nullptr;
  PENSTOCK_TRY(answer.status);
  if (answer.absent) return nullptr;
  Head head;
  head.object_bytes = answer.object_bytes;
  head.version = std::move(answer.version);
  const FetchRequest first{path_, ByteRange::span(0, std::min(head.object_bytes, kHeadBytes)), head.same_as()};
  answer = fetch_one(store_, first, head.bytes);
  PENSTOCK_TRY(answer.status);
  if (answer.absent) return nullptr;
  head_ = std::move(head);
  return &*head_;
}

Result<NodeInfo> read_node(const Store& store, std::string_view path, std::span<const FormatEntry> formats) {
  if (!path.empty()) PENSTOCK_TRY(check_key(path));
  if (store.traits("").requests_in_flight > 0) return read_node(Documents(store, {std::string(path)}), path, formats);
  Candidate candidate(store, path);
  for (const bool likely : {true, false})
    for (const FormatEntry& format : formats) {
      if (ends_as(path, format) != likely) continue;
      PENSTOCK_ASSIGN(std::optional<NodeInfo> node, format.open(candidate));
      if (node) return *std::move(node);
    }
  return no_node(store, path, formats);
}

Result<NodeInfo> read_node(const Store& store, std::string_view path) { return read_node(store, path, format_list()); }

Status write_node(Store& store, std::string_view path, const NodeInfo& node, const CancelToken& cancel) {
  if (!path.empty()) PENSTOCK_TRY(check_key(path));
  PENSTOCK_ASSIGN(const FormatEntry* const format, writer_of(format_of(node)));
  return format->write(store, path, node, cancel);
}

Status check_node(const NodeInfo& node) {
  PENSTOCK_ASSIGN(const FormatEntry* const format, writer_of(format_of(node)));
  return format->check(node);
}

Status check_can_write(const FormatInfo& info) {
  PENSTOCK_TRY(writer_of(info));
  return {};
}

}  // namespace penstock
