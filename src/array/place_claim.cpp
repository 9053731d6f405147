#include "array/place_claim.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <random>
#include <system_error>

#include "format/node.hpp"

namespace penstock {
namespace {

std::string marker_in(const std::string& path) {
  return path.empty() ? std::string(metadata::kCopyMarker) : fmt::format("{}/{}", path, metadata::kCopyMarker);
}

std::string new_name() {
  std::random_device random;
  return fmt::format(R"({{"writer": "{:08x}{:08x}"}})", random(), random());
}

Error taken(const Store& store, const std::string& path, std::string_view how) {
  return Error(ErrorCode::already_exists, fmt::format("{}: another write to this place {}",
                                                      path.empty() ? store.url() : store.url() + "/" + path, how));
}

}  // namespace

bool is_archive(const Store& store) {
  std::error_code error;
  return std::filesystem::is_regular_file(store.url(), error) || store.path_taken().starts_with("zip");
}

Result<PlaceClaim> PlaceClaim::take(std::shared_ptr<Store> store, std::string_view path, Array::IfExists if_exists,
                                    const CancelToken& cancel) {
  if (is_archive(*store)) return PlaceClaim(nullptr, {}, {});
  PlaceClaim claim(nullptr, std::string(path), new_name());
  const std::array<ByteView, 1> parts = {as_bytes(claim.name_)};
  const auto condition = if_exists == Array::IfExists::fail ? WriteCondition::absent() : WriteCondition::any();
  const Status put = store->set_if(marker_in(claim.path_), parts, condition, cancel);
  if (!put && put.error().code() == ErrorCode::changed)
    return taken(*store, claim.path_, "is under way, or was stopped")
        .set_hint("Let it end, or allow overwriting, or choose another place.");
  PENSTOCK_TRY(put);
  claim.store_ = std::move(store);
  return claim;
}

Result<bool> PlaceClaim::is_ours() const {
  Bytes there;
  PENSTOCK_ASSIGN(const bool marked, store_->get(marker_in(path_), there));
  return marked && as_text(there) == name_;
}

Status PlaceClaim::check() const {
  if (store_ == nullptr) return {};
  PENSTOCK_ASSIGN(const bool ours, is_ours());
  if (ours) return {};
  return taken(*store_, path_, "was begun meanwhile; this one was stopped")
      .set_hint("Let one write end before another is made there.");
}

PlaceClaim::~PlaceClaim() {
  if (store_ == nullptr) return;
  const Result<bool> ours = is_ours();
  if (ours && *ours) (void)store_->erase(marker_in(path_));  // what cannot be taken away is told to the next writer
}

}  // namespace penstock
