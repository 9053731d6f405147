// One run of the command: where results go, and what every command that does long work takes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// --links and --store-option, and --durable and --to-option for commands that write.
struct StoreWords {
  std::optional<std::string> links, durable;
  std::vector<std::string> by_name, target_by_name;
  void declare(Usage& usage);
  void declare_durable(Usage& usage);
  /// For commands that read one store and write another; `from`, `to`: their arguments.
  void declare_target(Usage& usage, std::string_view from, std::string_view to);
  /// Errors: invalid_argument naming the option.
  [[nodiscard]] Result<StoreOptions> options() const;
  /// Of the store that is written to, where it is another.
  [[nodiscard]] Result<StoreOptions> target_options() const;
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
