// System calls that fail, in a child process that a test has made for that.
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace penstock::test {

struct Forbidden {
  long call = 0;
  int errno_value = 0;
  std::optional<unsigned> if_flags = {};  ///< only with this fourth argument
};

/// Makes them fail in this process, for good.
inline bool forbid(const std::vector<Forbidden>& calls) {
  const auto load = [](std::size_t at) {
    return sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(at)));
  };
  std::vector<sock_filter> program;
  for (const Forbidden& one : calls) {
    program.push_back(load(offsetof(seccomp_data, nr)));
    const unsigned char skip = one.if_flags ? 3 : 1;
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(one.call), 0, skip));
    if (one.if_flags) {
      program.push_back(load(offsetof(seccomp_data, args) + 3 * sizeof(__u64)));
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, *one.if_flags, 0, 1));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(one.errno_value)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

}  // namespace penstock::test
