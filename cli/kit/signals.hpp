// Ctrl-C and friends ask running work to stop, so that it can leave nothing half-written.
#pragma once
#include "penstock/control.hpp"

namespace penstock::cli {

/// From now on SIGINT, SIGTERM and SIGHUP cancel the returned token (the same one every time).  A second signal ends
/// the process at once.  A signal that the caller ignores (nohup) stays ignored.
CancelToken cancel_on_signal();
/// The signal that came, 0 if none.
int caught_signal();

}  // namespace penstock::cli
