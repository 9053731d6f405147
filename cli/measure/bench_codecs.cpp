// penstock bench codecs
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/machine.hpp"
#include "cli/kit/outfile.hpp"
#include "cli/kit/table.hpp"
#include "cli/kit/version.hpp"
#include "cli/measure/codec_times.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"

namespace penstock::cli {
namespace {

std::string machine_text(const std::optional<Device>& device) {
  const CpuFacts cpu = cpu_facts();
  std::string text;
  for (const DeviceInfo& info : devices())
    if (device && info.device == *device) text = info.description + ", ";
  return text + fmt::format("{}, {} CPUs", cpu.model.empty() ? "unknown CPU" : cpu.model, cpu.online);
}

class BenchCodecs : public Command {
  std::optional<std::string> out_;
  std::vector<std::string> codecs_;
  bool json_ = false;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Times every codec that a device can decode, on this machine: one CPU core while all are at work and, where "
        "there is one, the first CUDA device (with nvCOMP too, if it is found), with batches of chunks of 64 KiB, 1 "
        "MiB and 4 MiB. The data are made from seeds: a u16 volume as a microscope makes it, the same with its bytes "
        "shuffled, labels. Every decoded byte is checked. The table is kept where the setting codec_costs says; by it "
        "reads into device memory choose where each array's chunks are decoded. Takes a minute or two.");
    usage.option("--output", "FILE", out_, "write the table there, not where the setting codec_costs says").kind =
        ValueKind::path;
    Option& codec = usage.option(
        "--codec", "NAME", codecs_,
        "only this one, e.g. zstd or 'blosc(lz4)'; may be repeated. Then nothing is written without --output");
    for (const CodecCase& known : codec_cases())
      if (known.name.find_first_of(" (") == std::string::npos) codec.suggestions.push_back(known.name);
    usage.flag("--json", json_, "print the table as it is written");
    resources_.declare(usage);
    usage.example("penstock bench codecs", "measure this machine, once");
    usage.example("penstock bench codecs --codec zstd --codec lz4 --output zstd-lz4.json", "some, to look at");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    PENSTOCK_ASSIGN(const std::vector<const CodecCase*> chosen, choose());
    PENSTOCK_ASSIGN(const std::string path, place());
    std::optional<OutFile> file;  // before the work: what cannot be written is known at once
    if (!path.empty()) {
      PENSTOCK_ASSIGN(OutFile created, OutFile::create(path, true));
      file.emplace(std::move(created));
    }
    PENSTOCK_ASSIGN(const TimesOptions times, times_options(options));
    CostTable table{"penstock bench codecs",
                    machine_text(times.device),
                    date_utc(),
                    std::string(commit()),
                    times.nvcomp ? times.nvcomp->version : "",
                    {}};
    CodecTimes measured(times);
    for (const CodecCase* codec : chosen) {
      PENSTOCK_ASSIGN_IN(const std::vector<CostRow> rows, measured.measure(*codec), codec->name);
      table.rows.insert(table.rows.end(), rows.begin(), rows.end());
    }
    if (file) PENSTOCK_TRY(write(*file, table.text()));
    if (json_) {
      session.out.print(table.text());
      return 0;
    }
    session.out.print(text(table, times));
    session.out.print(path.empty() ? "nothing was written\n" : fmt::format("written to {}\n", path));
    return 0;
  }

 private:
  [[nodiscard]] Result<std::vector<const CodecCase*>> choose() const {
    std::vector<const CodecCase*> chosen;
    std::vector<std::string> names;
    for (const CodecCase& codec : codec_cases()) {
      names.push_back(codec.name);
      if (codecs_.empty() || std::ranges::find(codecs_, codec.name) != codecs_.end()) chosen.push_back(&codec);
    }
    for (const std::string& name : codecs_) PENSTOCK_TRY(check_choice("--codec", name, names));
    return chosen;
  }

  /// Where the table goes; empty: nowhere.
  [[nodiscard]] Result<std::string> place() const {
    if (out_) return *out_;
    if (!codecs_.empty()) return std::string();
    PENSTOCK_ASSIGN(const TextSetting file, codec_costs_file());
    if (file.is_built_in() && !file.value.empty()) {
      std::error_code ignored;  // what is wrong is said when the file is created
      std::filesystem::create_directories(std::filesystem::path(file.value).parent_path(), ignored);
    }
    return file.value;
  }

  static Result<TimesOptions> times_options(const Options& options) {
    TimesOptions times;
    PENSTOCK_ASSIGN(times.threads, options.threads > 0 ? options.threads : default_threads());
    PENSTOCK_ASSIGN(times.device_bytes, options.budget_bytes > 0 ? options.budget_bytes : default_budget_bytes());
    for (const DeviceInfo& info : devices()) {
      if (times.device || info.device.type != Device::Type::cuda) continue;
      times.device = info.device;
      times.device_bytes = std::min(times.device_bytes, info.free_bytes / 2);
    }
    times.cancel = options.cancel;
    if (!times.device) return times;
    PENSTOCK_ASSIGN(const std::string library, nvcomp_library());
    auto nvcomp = nvcomp::load(library);
    if (!nvcomp && !library.empty()) return std::move(nvcomp).error();  // it was asked for
    if (nvcomp) times.nvcomp = *std::move(nvcomp);
    return times;
  }

  static Status write(OutFile& file, const std::string& text) {
    Output out(file.fd());
    out.print(text);
    PENSTOCK_TRY(out.flush());
    return file.commit();
  }

  /// A line for each codec, sample and size.
  static std::string text(const CostTable& costs, const TimesOptions& times) {
    std::string out = fmt::format(" {}; GB/s of decoded bytes, all checked; a core is one of {} at work\n",
                                  costs.machine, times.threads);
    if (!times.device) out += fmt::format(" cores only, there is no CUDA device: {}\n", cuda_unavailable_reason());
    Table table("lllrrrrr");
    std::vector<std::string> heads = {"codec", "data", "chunk", "a core"};
    const auto add = [&](const std::string& who) {
      for (const char* batch : {"1 chunk", "many"}) heads.push_back(fmt::format("{}, {}", who, batch));
    };
    if (times.device) add(times.device->name());
    if (times.nvcomp) add(times.nvcomp->name());
    table.row(heads);
    for (const CostRow& core : costs.rows) {
      if (core.by != DecodedBy::core) continue;
      for (const CostPoint& point : core.points) {
        std::vector<std::string> cells = {core.codec, core.data, format_bytes(point.chunk_bytes), rate(point)};
        for (const CostRow& row : costs.rows) {
          if (row.by == DecodedBy::core || row.codec != core.codec || row.data != core.data) continue;
          const auto [first, last] =
              std::ranges::equal_range(row.points, point.chunk_bytes, {}, &CostPoint::chunk_bytes);
          cells.push_back(first == last ? "" : rate(*first));
          cells.push_back(first == last ? "" : rate(*(last - 1)));
        }
        table.row(std::move(cells));
      }
    }
    return out + table.text();
  }

  static std::string rate(const CostPoint& point) {
    return fmt::format("{:.3g}", static_cast<double>(point.chunk_bytes * point.chunks) / point.seconds / 1e9);
  }
};

}  // namespace

std::unique_ptr<Command> make_bench_codecs() { return std::make_unique<BenchCodecs>(); }

}  // namespace penstock::cli
