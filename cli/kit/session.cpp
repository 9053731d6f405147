#include "cli/kit/session.hpp"

#include <fmt/format.h>

#include <map>
#include <span>

#include "cli/kit/progress.hpp"
#include "cli/kit/signals.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"

namespace penstock::cli {

namespace {

/// "KEY=VALUE" of each of these, which were given as `option`.  Errors: invalid_argument, which holds no value.
Result<std::map<std::string, std::string, std::less<>>> options_by_name(std::string_view option,
                                                                        std::span<const std::string> given) {
  std::map<std::string, std::string, std::less<>> options;
  for (const std::string& one : given) {
    const std::size_t equals = one.find('=');
    // Not shown: what has no '=' may be a value whose name was forgotten.
    if (equals == std::string::npos || equals == 0)
      return Error(ErrorCode::invalid_argument, fmt::format("{}: write it as KEY=VALUE", option));
    const std::string name = one.substr(0, equals);
    if (!options.emplace(name, one.substr(equals + 1)).second)
      return Error(ErrorCode::invalid_argument, fmt::format("{} {}: given twice", option, name));
  }
  return options;
}

}  // namespace

void Resources::declare(Usage& usage) {
  usage.option("--budget", "SIZE", budget,
               "working memory beyond the output, e.g. 512MiB, 2GiB; default a quarter of free memory");
  usage.option("--threads", "N", threads, "threads; default the CPUs that this process may use");
}

void Resources::declare_talk(Usage& usage, std::string more) {
  usage.flag("--quiet", quiet, "no progress, no report: errors only");
  usage.flag("--verbose", verbose, std::move(more));
}

Result<Options> Resources::options() const {
  Options options;
  if (quiet && verbose) return Error(ErrorCode::invalid_argument, "--quiet and --verbose: choose one");
  if (budget) {
    PENSTOCK_ASSIGN_IN(options.budget_bytes, parse_bytes(*budget), "--budget");
  }
  if (threads) {
    PENSTOCK_ASSIGN_IN(options.threads, parse_count(*threads), "--threads");
  }
  if (budget && options.budget_bytes == 0) return Error(ErrorCode::invalid_argument, "--budget: must be more than 0");
  if (threads && (options.threads == 0 || options.threads > 4096))
    return Error(ErrorCode::invalid_argument, fmt::format("--threads {}: must be from 1 to 4096", *threads));
  options.cancel = cancel_on_signal();
  if (!quiet) options.progress = progress_to_stderr();
  return options;
}

void StoreWords::declare(Usage& usage) {
  Option& option = usage.option("--links", "WHICH", links,
                                "symbolic links in directories: follow, or inside (one that leads out of the store is "
                                "an error: for stores of strangers); default follow");
  option.kind = ValueKind::choice;
  option.choices = {"follow", "inside"};
  usage.option("--store-option", "KEY=VALUE", by_name,
               "what the kind of store is told beyond the URL; once for each. No message shows a value");
}

void StoreWords::declare_durable(Usage& usage) {
  Option& option =
      usage.option("--durable", "WHAT", durable,
                   "what is safe from a power cut when the command ends, in this order: none, metadata "
                   "(and all that was written before it), all (each object as it is written); default none");
  option.kind = ValueKind::choice;
  option.choices = {"none", "metadata", "all"};
}

void StoreWords::declare_target(Usage& usage, std::string_view from, std::string_view to) {
  usage.option("--to-option", "KEY=VALUE", target_by_name,
               fmt::format("as --store-option, which is for {}, for the store that {} is in", from, to));
}

Result<StoreOptions> StoreWords::target_options() const {
  PENSTOCK_ASSIGN(StoreOptions options, this->options());
  PENSTOCK_ASSIGN(options.by_name, options_by_name("--to-option", target_by_name));
  return options;
}

Result<StoreOptions> StoreWords::options() const {
  StoreOptions options;
  if (durable) {
    PENSTOCK_ASSIGN_IN(options.durable, parse_durable(*durable), "--durable");
  }
  if (links) {
    PENSTOCK_ASSIGN_IN(options.links, parse_links(*links), "--links");
  }
  PENSTOCK_ASSIGN(options.by_name, options_by_name("--store-option", by_name));
  return options;
}

Result<Selection> region_option(const std::optional<std::string>& text, const Shape& shape) {
  PENSTOCK_ASSIGN_IN(Selection selection, parse_selection(text.value_or("..."), shape), "--region");
  return selection;
}

ProgressEnd::~ProgressEnd() { progress_done(); }

}  // namespace penstock::cli
