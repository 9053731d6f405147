// What stores behind HTTP have in common: how they fetch.
#pragma once
#include <memory>
#include <string>

#include "penstock/store.hpp"
#include "store/http/origin.hpp"

namespace penstock::http {

class RemoteStore : public Store {
 public:
  void fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const override;
  Status check(std::string_view key) const override { return check_key(key); }
  StoreTraits traits(std::string_view key) const override;
  std::string url() const override { return url_; }
  std::string identity() const override { return url_; }
  StoreOptions options() const override { return options_; }

 protected:
  /// `url`: without secrets.
  RemoteStore(std::string url, std::shared_ptr<const Origin> origin, StoreOptions options)
      : url_(std::move(url)), origin_(std::move(origin)), options_(std::move(options)) {}
  const std::string url_;
  const std::shared_ptr<const Origin> origin_;
  const StoreOptions options_;
};

/// The options "deadline" and "silence", by which stores behind HTTP are told how long to wait.
/// Errors: invalid_argument.
Result<Patience> patience_of(const StoreOptions& options);
/// Empty: it was not given.
std::string option_of(const StoreOptions& options, std::string_view name);

}  // namespace penstock::http
