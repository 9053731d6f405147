// One FetchRequest as an exchange: what is asked, what the answer must look like, where the bytes go.
#pragma once
#include "store/http/origin.hpp"

namespace penstock::http {

class ObjectGet final : public Exchange {
 public:
  ObjectGet(std::shared_ptr<const Origin> origin, const FetchRequest& request, std::size_t number, FetchSink& sink,
            const CancelToken& cancel)
      : Exchange(cancel, origin->patience()),
        origin_(std::move(origin)),
        asked_(request),
        number_(number),
        sink_(sink) {}

  Result<Request> request() override;
  Status head(const Head& head) override;
  Status body(ByteView bytes) override;
  Next ended(const Ended& ended) override;
  void over(Status status) override;
  [[nodiscard]] const void* server() const override { return origin_.get(); }
  [[nodiscard]] std::optional<std::uint64_t> expected_bytes() const override {
    const bool told = asked_.range.kind == ByteRange::Kind::span || asked_.range.kind == ByteRange::Kind::last;
    return told ? std::optional(asked_.range.count) : std::nullopt;
  }

 private:
  /// No bytes are wanted: whether it is there, and how large.
  [[nodiscard]] bool is_probe() const;
  [[nodiscard]] std::string where() const { return origin_->where(asked_.key); }
  [[nodiscard]] Status take_version(const Head& head);
  [[nodiscard]] Status check_packing(const Head& head) const;
  [[nodiscard]] Status take_part(const Head& head);
  [[nodiscard]] Status expect(std::uint64_t offset_bytes, std::optional<std::uint64_t> count);
  [[nodiscard]] Next not_satisfiable(const Head& head);
  [[nodiscard]] Next complete();
  [[nodiscard]] Error too_short(std::uint64_t object_bytes) const;

  const std::shared_ptr<const Origin> origin_;
  const FetchRequest asked_;
  const std::size_t number_;
  FetchSink& sink_;

  Detour detour_;
  FetchAnswer answer_;
  std::string etag_;       ///< of the bytes so far; empty: they cannot be gone on with
  bool has_head_ = false;  ///< one of an object came: the members below are its
  bool has_room_ = false;
  ByteSpan room_;
  std::uint64_t expected_ = 0, received_ = 0;
  std::uint64_t paged_ = 0;  ///< up to there the room's pages are there
  bool size_told_ = true;
  Bytes untold_;  ///< bytes of an answer that did not tell how many

  bool measures_ = false;  ///< asks how large the object is, not for its bytes
  // Of this attempt:
  bool is_object_ = false;  ///< its body is the object's
  bool cut_ = false;        ///< ended on purpose: enough was seen
  std::string detail_;      ///< begin of a body that is not the object's
};

}  // namespace penstock::http
