// Calls of the system that fail as told, in the whole test program: it defines them itself, before the C library.
#pragma once
#include <cstdint>

namespace penstock::test {

/// What can fail: of files that are being written their making, writes, closing and naming; reads; memory of Bytes
/// and any other; writes of any file.
enum class Call : std::uint8_t { create, write, close, rename, read, memory, allocation, any_write };

/// From now on the call after `skip` of its kind fails with `why` (errno), once.  Calls by any thread count.
void fail_call(Call call, int skip, int why);
/// From now on every second call that may be interrupted is: it fails with EINTR, and whoever asks again is served.
/// Writes and reads that are not interrupted move half of their bytes.
void interrupt_calls();
/// All calls are as they were.  Whether one failed since.
bool stop_failing();

}  // namespace penstock::test
