// The command `penstock`: the list of its commands, and what is the same for all of them.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <deque>
#include <new>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/help.hpp"
#include "cli/kit/signals.hpp"
#include "cli/oct/oct.hpp"
#include "core/suggest.hpp"

namespace penstock::cli {

namespace {

/// Steps of the reconstruction of serial OCT, from the library's own list.
void add_oct(std::vector<CommandEntry>& list) {
  static std::deque<std::string> names;  // the entries refer to them
  for (const OctStep& step : oct_steps())
    list.push_back(
        {"serial OCT", names.emplace_back("oct " + step.name), step.summary, [&step] { return make_oct(step); }});
}

std::vector<CommandEntry> all_commands() {
  std::vector<CommandEntry> list = {
      {"look", "info", "what arrays, groups and images are", make_info},
      {"look", "tree", "the arrays and groups below a node", make_tree},
      {"look", "cat", "the elements of a region, to a file or to standard output", make_cat},
      {"look", "explain", "what a read would do, and why", make_explain},
      {"look", "doctor", "what this machine offers and what penstock makes of it", make_doctor},
      {"raster", "cog info", "where a raster lies on the ground, its levels, masks and tags", make_cog_info},
      {"raster", "cog validate", "whether a TIFF is a Cloud Optimized GeoTIFF, and why not", make_cog_validate},
      {"raster", "cog create", "write an array as a Cloud Optimized GeoTIFF", make_cog_create},
      {"change", "copy", "copy a part or all: other chunks, shards, codecs or version, into a zip, with a pyramid",
       make_copy},
      {"change", "consolidate", "write the metadata of all that is below a group into the group's own",
       make_consolidate},
      {"operate", "op", "apply image operators to an array, in bounded memory", make_op},
      {"operate", "stats", "percentiles, histogram and Otsu's threshold of an array", make_stats},
      {"diffusion", "dwi fit", "maps of a model that is fitted to each voxel", make_dwi_fit},
      {"diffusion", "track", "a raw diffusion volume to streamlines", make_track},
      {"diffusion", "tracks info", "what files of streamlines hold", make_tracks_info},
      {"diffusion", "tracks convert", "streamlines in another format", make_tracks_convert},
      {"diffusion", "tracks density", "an image of how many streamlines pass each voxel", make_tracks_density},
      {"diffusion", "tracks picture", "a picture of the same", make_tracks_picture},
  };
  add_oct(list);
  const std::initializer_list<CommandEntry> rest = {
      {"check", "verify", "decode every chunk and list the bad ones", make_verify},
      {"measure", "bench", "time reading and writing, with every byte checked", make_bench},
      {"measure", "bench codecs", "time every decoder, for the table by which reads choose one", make_bench_codecs},
      {"measure", "demo", "the main job on one store: read, project, write a pyramid, with pictures", make_demo},
      {"help", "help", "this list, the page of a command, or the reference of all", make_help},
      {"help", "completion", "a completion script for the shell", make_completion},
      {"help", "version", "version and commit", make_version},
      {"", "--array_path", "all elements of an array, as the Zarr conformance tests want them", make_array_path},
      {"", "--complete", "what a path into a store can go on with, for completion scripts", make_complete},
  };
  list.insert(list.end(), rest);
  return list;
}

}  // namespace

std::span<const CommandEntry> commands() {
  static const std::vector<CommandEntry> list = all_commands();
  return list;
}

const CommandEntry* find_command(std::string_view name) {
  const auto all = commands();
  const auto it = std::ranges::find(all, name, &CommandEntry::name);
  return it == all.end() ? nullptr : &*it;
}

namespace {

constexpr int kUsageError = 64;
constexpr int kReaderGone = 141;  // what a shell reports for a process that SIGPIPE ended

/// A file opened by the library must never get the number of a standard stream that the caller closed.
void keep_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // reading and writing stay errors
}

int report(std::string_view command, const Error& error) {
  if (error.system_errno() == EPIPE) return kReaderGone;  // `penstock cat ... | head`: no fault of anyone
  std::string text = fmt::format("penstock{}{}: {}\n", command.empty() ? "" : " ", command, error.message());
  if (!error.hint().empty()) text += fmt::format("  {}\n", error.hint());
  std::fputs(text.c_str(), stderr);
  if (error.code() == ErrorCode::cancelled && caught_signal() != 0) return 128 + caught_signal();
  return error_exit_code(error.code());
}

int finish(std::string_view command, Session& session, const Result<int>& result) {
  const Status written = session.out.flush();
  if (!result) return report(command, result.error());
  if (!written) return report(command, written.error());
  return *result;
}

int usage_error(const std::string& message, std::string_view hint) {
  fmt::print(stderr, "penstock: {}\n  {}\n", message, hint);
  return kUsageError;
}

/// What is said of words that name no command.
int no_such_command(const std::vector<std::string>& words, Session& session) {
  std::string name = words[0];
  std::string hint = "penstock help lists the commands.";
  if (const std::string family = family_overview(name); !family.empty()) {
    if (words.size() == 1) {
      std::fputs(family.c_str(), stderr);
      return kUsageError;
    }
    if (words[1] == "--help" || words[1] == "-h") {
      session.out.print(family);
      return finish(name, session, 0);
    }
    hint = fmt::format("penstock {} --help lists them.", name);
    name += " " + words[1];
  }
  if (name.starts_with('-')) {
    const std::vector<std::string> known = {"--help", "--version"};
    return usage_error(fmt::format("no option '{}' before a command.{}", name, did_you_mean(name, known)),
                       "options of a command stand behind it: penstock COMMAND [options] ...");
  }
  std::vector<std::string> known;
  for (const CommandEntry& entry : commands())
    if (!entry.group.empty()) known.emplace_back(entry.name);
  return usage_error(fmt::format("no command '{}'.{}", name, did_you_mean(name, known)), hint);
}

int run(std::vector<std::string> words) {
  Session session{Output(STDOUT_FILENO), use_color(STDOUT_FILENO)};
  if (words.empty()) {
    std::fputs(overview().c_str(), stderr);
    return kUsageError;
  }
  if (words[0] == "--version" || words[0] == "-V") words[0] = "version";
  if (words[0] == "--help" || words[0] == "-h") words[0] = "help";
  if (const std::size_t equals = words[0].find('='); words[0].starts_with("--array_path=")) {
    words.insert(words.begin() + 1, words[0].substr(equals + 1));
    words[0].resize(equals);
  }
  if (words.size() > 1 && find_command(words[0] + " " + words[1]) != nullptr) {
    words[0] += " " + words[1];
    words.erase(words.begin() + 1);
  }
  const CommandEntry* entry = find_command(words[0]);
  if (entry == nullptr) return no_such_command(words, session);

  const auto command = entry->make();
  Usage usage;
  command->usage(usage);
  const auto arguments = std::span(words).subspan(1);
  const auto end = std::ranges::find(arguments, "--");
  if (std::any_of(arguments.begin(), end, [](const std::string& w) { return w == "--help" || w == "-h"; })) {
    session.out.print(usage.help(entry->name, entry->summary));
    return finish(entry->name, session, 0);
  }
  if (const Status parsed = usage.parse(arguments); !parsed) return report(entry->name, parsed.error());
  return finish(entry->name, session, command->run(session));
}

}  // namespace
}  // namespace penstock::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is seen as EPIPE
  penstock::cli::keep_standard_streams();
  try {
    return penstock::cli::run({argv + 1, argv + std::max(argc, 1)});
  } catch (const std::bad_alloc&) {
    std::fputs("penstock: out of memory\n  a smaller --budget or region needs less.\n", stderr);
    return penstock::error_exit_code(penstock::ErrorCode::out_of_memory);
  } catch (const std::system_error& e) {  // std::thread: none to be had
    std::fprintf(stderr, "penstock: %s\n", e.what());
    return penstock::error_exit_code(penstock::ErrorCode::out_of_memory);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "penstock: internal error: %s\n", e.what());
    return penstock::error_exit_code(penstock::ErrorCode::internal);
  }
}
