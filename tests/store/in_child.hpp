// Work that a test does in another process, which may change what this one must keep: its user, its mounts, its limits.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace penstock::test {

/// Runs `body` in a child process; what it returns, up to 4 KiB.
inline std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = body();
    const bool sent = ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(sent ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t n = ::read(ends[0], text.data(), text.size());
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? text : "the child failed: " + text;
}

}  // namespace penstock::test
