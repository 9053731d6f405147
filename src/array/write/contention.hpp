// Changes of an object that writers on other machines change too.
#pragma once
#include "core/function_ref.hpp"
#include "exec/job.hpp"
#include "penstock/store.hpp"

namespace penstock {

/// Calls `change`, which reads an object and writes it by condition, until it is not refused because another writer
/// came between (`changed`): up to 100 times, with pauses that grow, for as long as the store is patient. Errors: those
/// of `change`, `changed` with how often it was tried; of the job (cancelled, timed_out), also while it pauses.
[[nodiscard]] Status change_until_done(const Store& store, Job& job, FunctionRef<Status()> change);

}  // namespace penstock
