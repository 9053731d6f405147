#include "format/nifti/gunzip_store.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <vector>

#include "store/blocking_store.hpp"
#include "store/fetch_one.hpp"

namespace penstock {
namespace {

constexpr std::string_view kSuffix = ".nii.gz";
constexpr std::uint64_t kPieceBytes = std::uint64_t{256} << 10;  // of the file, in memory
constexpr std::size_t kMaxPlaces = 256;
constexpr std::uint64_t kFirstSpacing = std::uint64_t{4} << 20;  // of places in the content

/// A decoder at one place of a file.
class Inflater {
 public:
  static Result<std::unique_ptr<Inflater>> begin() {
    std::unique_ptr<Inflater> made(new Inflater());
    made->ready_ = inflateInit2(&made->stream_, 15 + 16) == Z_OK;
    if (!made->ready_) return Error(ErrorCode::out_of_memory, "no memory for a gzip decoder");
    return made;
  }
  [[nodiscard]] Result<std::unique_ptr<Inflater>> copy() const {
    std::unique_ptr<Inflater> made(new Inflater());
    made->ready_ = inflateCopy(&made->stream_, const_cast<z_stream*>(&stream_)) == Z_OK;
    if (!made->ready_) return Error(ErrorCode::out_of_memory, "no memory for a gzip decoder");
    made->in_ = in_;
    made->out_ = out_;
    made->ended_ = ended_;
    return made;
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  [[nodiscard]] std::uint64_t in() const { return in_; }
  [[nodiscard]] std::uint64_t out() const { return out_; }

  /// Decodes from `from` into `into`; how much of each was used.  Errors: corrupt_data.
  Result<std::pair<std::size_t, std::size_t>> step(ByteView from, ByteSpan into) {
    if (ended_) {  // another member follows
      if (inflateReset(&stream_) != Z_OK) return Error(ErrorCode::corrupt_data, "cannot go on");
      ended_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data()));
    stream_.avail_in = static_cast<uInt>(from.size());
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(into.size());
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return Error(ErrorCode::corrupt_data, stream_.msg != nullptr ? stream_.msg : "bad data");
    ended_ = code == Z_STREAM_END;
    const std::size_t used = from.size() - stream_.avail_in, made = into.size() - stream_.avail_out;
    in_ += used;
    out_ += made;
    return std::pair(used, made);
  }

 private:
  Inflater() = default;
  z_stream stream_ = {};
  bool ready_ = false, ended_ = false;
  std::uint64_t in_ = 0, out_ = 0;
};

/// The content of one object.  Thread-safe; one thread decodes at a time.
class Content {
 public:
  Content(std::shared_ptr<const Store> store, std::string key, std::uint64_t bytes, ObjectVersion version)
      : store_(std::move(store)), key_(std::move(key)), bytes_(bytes), version_(std::move(version)) {}

  Status read(std::uint64_t offset, ByteSpan into) {
    const std::scoped_lock lock(mutex_);
    const Status status = read_alone(offset, into);
    if (status) return status;
    at_.reset();  // where decoding failed, nothing goes on
    Error error = status.error();
    return std::move(error.add_context(fmt::format("{}/{}: gzip", store_->url(), key_)));
  }
  [[nodiscard]] const ObjectVersion& version() const { return version_; }

  /// Of a small file; a larger one does not say it.  What cannot be decoded is found by whoever reads it.
  [[nodiscard]] std::uint64_t size_bytes() {
    constexpr std::uint64_t kSmall = 16 << 10;  // whose content is 16 MiB at most
    const std::scoped_lock lock(mutex_);
    if (bytes_ > kSmall) return kNotTold;
    if (size_) return *size_;
    std::array<std::byte, 64 << 10> some;
    while (read_alone(at_ ? at_->out() : 0, some)) continue;
    size_ = at_ ? at_->out() : 0;
    at_.reset();
    return *size_;
  }

 private:
  Status read_alone(std::uint64_t offset, ByteSpan into) {
    if (!at_ || at_->out() > offset) {
      const auto after = places_.upper_bound(offset);
      if (after == places_.begin()) {
        PENSTOCK_ASSIGN(at_, Inflater::begin());
      } else {
        PENSTOCK_ASSIGN(at_, std::prev(after)->second->copy());
      }
    }
    while (at_->out() < offset) {
      PENSTOCK_TRY(skipped_.resize_discard(std::min<std::uint64_t>(offset - at_->out(), kPieceBytes)));
      PENSTOCK_TRY(decode(skipped_.span()));
    }
    return decode(into);
  }

  Status decode(ByteSpan into) {
    while (!into.empty()) {
      if (at_->in() < first_ || at_->in() >= first_ + piece_.size()) PENSTOCK_TRY(load());
      const ByteView from = piece_.view().subspan(at_->in() - first_);
      PENSTOCK_ASSIGN(const auto step, at_->step(from, into.first(std::min<std::size_t>(into.size(), kFirstSpacing))));
      into = into.subspan(step.second);
      PENSTOCK_TRY(remember());
    }
    return {};
  }

  Status load() {
    if (at_->in() >= bytes_)
      return Error(ErrorCode::corrupt_data,
                   fmt::format("the file ends after {} bytes, {} of its content", bytes_, at_->out()));
    const std::uint64_t n = std::min(kPieceBytes, bytes_ - at_->in());
    PENSTOCK_TRY(piece_.resize_discard(n));
    const FetchRequest request{key_, ByteRange::span(at_->in(), n), version_.known() ? &version_ : nullptr};
    const FetchAnswer answer = fetch_one(*store_, request, piece_.span(), {});
    PENSTOCK_TRY(answer.status);
    if (answer.absent) return Error(ErrorCode::not_found, "is not there any more");
    if (answer.bytes.data() != piece_.data()) std::copy(answer.bytes.begin(), answer.bytes.end(), piece_.data());
    first_ = at_->in();
    return {};
  }

  Status remember() {
    const std::uint64_t last = places_.empty() ? 0 : places_.rbegin()->first;
    if (at_->out() < last + spacing_) return {};
    PENSTOCK_ASSIGN(places_[at_->out()], at_->copy());
    if (places_.size() <= kMaxPlaces) return {};
    spacing_ *= 2;  // each second one goes
    bool keep = false;
    std::erase_if(places_, [&](const auto&) { return keep = !keep; });
    return {};
  }

  std::shared_ptr<const Store> store_;
  std::string key_;
  std::uint64_t bytes_;
  ObjectVersion version_;
  std::mutex mutex_;
  std::unique_ptr<Inflater> at_;
  std::map<std::uint64_t, std::unique_ptr<Inflater>> places_;
  std::uint64_t spacing_ = kFirstSpacing, first_ = 0;
  Bytes piece_, skipped_;
  std::optional<std::uint64_t> size_;
};

class ContentObject final : public Object {
 public:
  explicit ContentObject(std::shared_ptr<Content> content) : content_(std::move(content)) {}
  [[nodiscard]] std::uint64_t size_bytes() const override { return content_->size_bytes(); }
  [[nodiscard]] Status read(std::uint64_t offset, ByteSpan into) const override { return content_->read(offset, into); }
  [[nodiscard]] std::uint64_t version() const override { return content_->version().number; }

 private:
  std::shared_ptr<Content> content_;
};

class GunzipStore final : public BlockingStore {
 public:
  explicit GunzipStore(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  [[nodiscard]] std::string url() const override { return store_->url(); }
  [[nodiscard]] std::string path_taken() const override { return store_->path_taken() + ", gzip"; }
  [[nodiscard]] bool writable() const override { return false; }
  [[nodiscard]] std::string identity() const override { return store_->identity(); }
  [[nodiscard]] StoreOptions options() const override { return store_->options(); }
  [[nodiscard]] Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override {
    return store_->list_dir(prefix);
  }
  [[nodiscard]] Status set(std::string_view, ByteView) override { return read_only(); }
  [[nodiscard]] Status erase(std::string_view) override { return read_only(); }

  [[nodiscard]] Result<std::unique_ptr<Object>> open(std::string_view key) const override {
    const FetchAnswer answer = probe(*store_, key);
    PENSTOCK_TRY(answer.status);
    if (answer.absent) return std::unique_ptr<Object>();
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Content>& content = contents_[std::string(key)];
    if (!content || content->version().number == 0 || content->version().number != answer.version.number)
      content = std::make_shared<Content>(store_, std::string(key), answer.object_bytes, answer.version);
    return std::unique_ptr<Object>(std::make_unique<ContentObject>(content));
  }

 private:
  static Error read_only() { return {ErrorCode::unsupported, "what is in a gzip file cannot be changed"}; }
  std::shared_ptr<Store> store_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<Content>, std::less<>> contents_;
};

}  // namespace

std::shared_ptr<Store> seen_through_gzip(std::shared_ptr<Store> store, std::string_view path) {
  if (!path.ends_with(kSuffix)) return store;
  return std::make_shared<GunzipStore>(std::move(store));
}

}  // namespace penstock
