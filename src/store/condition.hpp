// Writes that depend on what stands under the key.
#pragma once
#include <chrono>
#include <functional>
#include <string_view>

#include "penstock/store.hpp"

namespace penstock {

inline constexpr std::string_view kReplaced = "the object was replaced meanwhile";
inline constexpr std::string_view kStandsAlready = "an object stands there already";
inline constexpr std::string_view kVersionUnknown = "nobody can tell whether it is the version that was read";

/// Base of stores that look and write in one step for writers on every machine: a change in part is written there on
/// condition that what was read still stands, since no lock of this machine keeps the others away.
class AtomicConditions {
 public:
  static constexpr std::chrono::milliseconds kPatience{60'000};
  virtual ~AtomicConditions() = default;
  /// For how long a change is begun anew while others come between.
  [[nodiscard]] virtual std::chrono::milliseconds patience() const { return kPatience; }
};

/// "STORE/KEY: WHY", of code `changed`.
Error changed_error(const Store& store, std::string_view key, std::string_view why);

/// Looks whether the condition holds now.  Errors: changed.
Status check_condition(const Store& store, std::string_view key, const WriteCondition& condition);

/// What Store::lock asks while it waits.
std::function<Status()> not_cancelled(const CancelToken& cancel);

}  // namespace penstock
