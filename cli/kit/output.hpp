// Standard output of a command: data only, every failure noticed.
#pragma once
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "penstock/bytes.hpp"

namespace penstock::cli {

/// Buffered writer of a file descriptor.  The first failure is kept; later writes do nothing.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}
  void print(std::string_view text) { write(as_bytes(text)); }
  void write(ByteView bytes);
  /// Indented, with a newline.
  void json(const Json& document) { print(dump_json(document, 2, NonFinite::quoted) + "\n"); }
  /// Errors: io_error, no_space; errno EPIPE when the reader has gone.
  [[nodiscard]] Status flush();
  /// The failure so far, without writing.
  [[nodiscard]] Status status() const;

 private:
  void drain(ByteView bytes);
  int fd_;
  int errno_ = 0;
  std::string buffer_;
};

/// Whether to colour what goes to `fd`: a terminal, NO_COLOR unset or empty, TERM not "dumb".
bool use_color(int fd);
/// A text in an ANSI colour ("32" green, "31" red, "1" bold), or as it is.
std::string colored(std::string_view text, std::string_view code, bool on);
/// Whether the locale of the environment writes UTF-8.
bool utf8_locale();

}  // namespace penstock::cli
