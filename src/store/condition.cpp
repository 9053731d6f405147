#include "store/condition.hpp"

#include "store/key.hpp"

namespace penstock {

Error changed_error(const Store& store, std::string_view key, std::string_view why) {
  return {ErrorCode::changed, join_key(store.url(), key) + ": " + std::string(why)};
}

Status check_condition(const Store& store, std::string_view key, const WriteCondition& condition) {
  switch (condition.kind) {
    case WriteCondition::Kind::any: return {};
    case WriteCondition::Kind::absent: {
      PENSTOCK_ASSIGN(const bool stands, store.exists(key));
      if (stands) return changed_error(store, key, kStandsAlready);
      return {};
    }
    case WriteCondition::Kind::version: {
      if (!condition.version.known()) return changed_error(store, key, kVersionUnknown);
      PENSTOCK_ASSIGN(const bool current, store.is_current(key, condition.version));
      if (!current) return changed_error(store, key, kReplaced);
      return {};
    }
  }
  return Error(ErrorCode::internal, "no such condition");
}

std::function<Status()> not_cancelled(const CancelToken& cancel) {
  return [cancel]() -> Status {
    if (cancel.cancelled()) return Error(ErrorCode::cancelled, "cancelled");
    return {};
  };
}

}  // namespace penstock
