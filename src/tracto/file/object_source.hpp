// An object of a store, read from front to back in pieces.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "penstock/store.hpp"
#include "store/fetch_one.hpp"

namespace penstock::tracto {

class ObjectSource {
 public:
  /// Errors: not_found; those of the store.
  static Result<ObjectSource> open(std::shared_ptr<const Store> store, std::string key) {
    ObjectSource out;
    PENSTOCK_ASSIGN(const auto size, store->size_bytes(key));
    if (!size) return Error(ErrorCode::not_found, store->url() + "/" + key + ": is not there");
    out.size_ = *size;
    out.store_ = std::move(store);
    out.key_ = std::move(key);
    return out;
  }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_; }
  [[nodiscard]] std::uint64_t at() const { return at_; }
  [[nodiscard]] std::uint64_t left() const { return size_ - at_; }
  void seek(std::uint64_t offset) { at_ = std::min(offset, size_); }

  /// The next bytes, and goes behind them.  Errors: corrupt_data (there are not as many); those of the store.
  Status read(ByteSpan into) {
    if (into.size() > left())
      return Error(ErrorCode::corrupt_data, "ends at byte " + std::to_string(size_) + ", where byte " +
                                                std::to_string(at_ + into.size()) + " is needed");
    while (!into.empty()) {
      if (at_ < first_ || at_ >= first_ + piece_.size()) PENSTOCK_TRY(load());
      const std::size_t from = at_ - first_, n = std::min(into.size(), piece_.size() - from);
      std::memcpy(into.data(), piece_.data() + from, n);
      into = into.subspan(n);
      at_ += n;
    }
    return {};
  }

 private:
  static constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
  Status load() {
    const std::uint64_t n = std::min(kPieceBytes, left());
    PENSTOCK_TRY(piece_.resize_discard(n));
    FetchAnswer answer = fetch_one(*store_, {key_, ByteRange::span(at_, n), nullptr}, piece_.span(), {});
    PENSTOCK_TRY(answer.status);
    if (answer.absent || answer.bytes.size() != n)
      return Error(ErrorCode::changed, key_ + ": changed while it was read");
    if (answer.bytes.data() != piece_.data()) std::memcpy(piece_.data(), answer.bytes.data(), n);
    first_ = at_;
    return {};
  }

  std::shared_ptr<const Store> store_;
  std::string key_;
  std::uint64_t size_ = 0, at_ = 0, first_ = 0;
  Bytes piece_;
};

}  // namespace penstock::tracto
