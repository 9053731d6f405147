#include "cli/kit/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace penstock::cli {

void Output::write(ByteView bytes) {
  constexpr std::size_t kBuffer = std::size_t{64} << 10;
  if (errno_ != 0) return;
  if (buffer_.size() + bytes.size() > kBuffer) {
    drain(as_bytes(buffer_));
    buffer_.clear();
    if (bytes.size() >= kBuffer) return drain(bytes);
  }
  buffer_.append(as_text(bytes));
}

void Output::drain(ByteView bytes) {
  while (!bytes.empty() && errno_ == 0) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n >= 0)
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    else if (errno != EINTR)
      errno_ = errno;
  }
}

Status Output::flush() {
  drain(as_bytes(buffer_));
  buffer_.clear();
  return status();
}

Status Output::status() const {
  if (errno_ == 0) return {};
  const ErrorCode code = errno_ == ENOSPC || errno_ == EDQUOT ? ErrorCode::no_space : ErrorCode::io_error;
  return Error(code, fmt::format("standard output: {} (errno {})", std::strerror(errno_), errno_)).set_errno(errno_);
}

bool use_color(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

std::string colored(std::string_view text, std::string_view code, bool on) {
  return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

bool utf8_locale() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos || text.find("utf-8") != text.npos;
  }
  return false;
}

}  // namespace penstock::cli
