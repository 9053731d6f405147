#include "store/http/remote_store.hpp"

#include "core/guard.hpp"
#include "core/units.hpp"
#include "store/http/object_get.hpp"

namespace penstock::http {
namespace {

FetchAnswer failed(Error error) {
  FetchAnswer answer;
  answer.status = std::move(error);
  return answer;
}

}  // namespace

void RemoteStore::fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Status begun = guarded([&]() -> Status {
      PENSTOCK_TRY(check_key(requests[i].key));
      return submit(std::make_unique<ObjectGet>(origin_, requests[i], i, sink, options.cancel));
    });
    if (!begun) sink.done(i, failed(begun.error()));
  }
}

StoreTraits RemoteStore::traits(std::string_view /*key*/) const {
  StoreTraits traits;
  traits.requests_in_flight = kMaxUnderWay;
  traits.merge_gap_bytes = 256 << 10;
  traits.merge_max_bytes = 8 << 20;
  traits.reason = "behind a network: a request costs what some 256 KiB do, and 64 are under way together";
  return traits;
}

std::string option_of(const StoreOptions& options, std::string_view name) {
  const auto found = options.by_name.find(name);
  return found == options.by_name.end() ? std::string() : found->second;
}

Result<Patience> patience_of(const StoreOptions& options) {
  Patience patience;
  for (const auto& [name, time] :
       {std::pair("deadline", &patience.deadline), std::pair("silence", &patience.silence)}) {
    const std::string text = option_of(options, name);
    if (text.empty()) continue;
    PENSTOCK_ASSIGN_IN(const auto given, parse_duration(text), std::string("option ") + name);
    *time = std::chrono::duration_cast<milliseconds>(given);
    if (*time < milliseconds(1) || *time > std::chrono::hours(24 * 7))
      return Error(ErrorCode::invalid_argument, std::string("option ") + name + ": from 1ms to a week");
  }
  return patience;
}

}  // namespace penstock::http
