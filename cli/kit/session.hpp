// One run of the command: where results go, and what every command that does long work takes.
#pragma once
#include <optional>
#include <string>

#include "cli/kit/output.hpp"
#include "cli/kit/usage.hpp"
#include "core/selection.hpp"
#include "penstock/array.hpp"

namespace penstock::cli {

struct Session {
  Output out;
  bool color = false;  ///< standard output takes colours
};

/// --budget and --threads.
struct Resources {
  std::optional<std::string> budget, threads;
  bool quiet = false, verbose = false;
  void declare(Usage& usage);
  /// --quiet and --verbose, for commands whose work has a report; `more`: what --verbose prints.
  void declare_talk(Usage& usage, std::string more);
  /// Options for the library: sizes parsed, progress on standard error (unless --quiet), cancelled by Ctrl-C.
  /// Errors: invalid_argument naming the option.
  [[nodiscard]] Result<Options> options() const;
};

/// --links, and --durable for commands that write.
struct StoreWords {
  std::optional<std::string> links, durable;
  void declare_links(Usage& usage);
  void declare_durable(Usage& usage);
  /// Errors: invalid_argument naming the option.
  [[nodiscard]] Result<StoreOptions> options() const;
};

/// What --region says of an array of this shape; all of it when it is not given.
Result<Selection> region_option(const std::optional<std::string>& text, const Shape& shape);

/// Ends the progress display when a piece of work ends, however it ends.
struct ProgressEnd {
  ProgressEnd() = default;
  ProgressEnd(const ProgressEnd&) = delete;
  ProgressEnd& operator=(const ProgressEnd&) = delete;
  ~ProgressEnd();
};

}  // namespace penstock::cli
