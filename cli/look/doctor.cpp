// penstock doctor
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/machine.hpp"
#include "cli/kit/session.hpp"
#include "cli/kit/table.hpp"
#include "cli/kit/version.hpp"
#include "cli/look/places.hpp"
#include "codec/cost/costs.hpp"
#include "codec/nvcomp/library.hpp"
#include "core/config.hpp"
#include "core/json.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"
#include "penstock/codec.hpp"
#include "penstock/store.hpp"

namespace penstock::cli {
namespace {

class Doctor : public Command {
  std::vector<std::string> paths_;
  bool defaults_ = false;
  bool json_ = false;
  StoreWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Looks at the processors, the ways to storage and the codecs, and says for each whether it is used and, if "
        "not, why and what to do. Changes nothing.");
    usage.argument("PATH", paths_,
                   "files, directories and URLs of stores (s3://, https://): what serves each, and why; default the "
                   "current directory");
    words_.declare(usage);
    usage.flag("--defaults", defaults_, "print every setting with its value and where it came from");
    usage.flag("--json", json_, "print JSON");
    usage.example("penstock doctor /data", "this machine and the disk that holds /data");
    usage.example("penstock doctor s3://bucket/vol.zarr", "who answers there, in which region, and who signs");
    usage.example("PENSTOCK_BUDGET=2GiB penstock doctor --defaults", "what the settings are, and why");
  }

  Result<int> run(Session& session) override {
    if (defaults_) return print_defaults(session);
    std::vector<Finding> findings = {cpu(), memory()};
    add_cuda(findings);
    findings.push_back(gpudirect());
    findings.push_back(io_uring());
    if (paths_.empty()) paths_.emplace_back(".");
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    for (const std::string& path : paths_) {
      PENSTOCK_ASSIGN(Finding finding, look_at_place(path, how));
      findings.push_back(std::move(finding));
    }
    findings.push_back(codecs());
    findings.push_back(costs());
    findings.push_back(nvcomp());
    if (json_) {
      Json document = {{"version", version()}, {"commit", commit()}};
      for (Finding& f : findings) {
        f.json["verdict"] = f.verdict;
        if (f.json.contains("filesystem"))
          document["disks"].push_back(std::move(f.json));
        else if (f.json.contains("answers"))
          document["stores"].push_back(std::move(f.json));
        else
          document[f.name] = std::move(f.json);
      }
      session.out.json(document);
      return 0;
    }
    Table table("lll");
    for (const Finding& f : findings) {
      table.row({f.name, f.detail, f.verdict == "ok" ? colored("ok", "32", session.color) : f.verdict});
      for (const auto& [name, detail] : f.below) table.row({"  " + name, detail, ""});
    }
    session.out.print(table.text(" ", table_width()));
    return 0;
  }

 private:
  Result<int> print_defaults(Session& session) const {
    PENSTOCK_ASSIGN(const std::vector<Setting> settings, all_settings());
    Json document = Json::array();
    Table table("llll");
    for (const Setting& s : settings) {
      document.push_back({{"name", s.name}, {"value", s.value}, {"origin", s.origin}, {"what", s.what}});
      table.row({std::string(s.name), s.value, s.origin, std::string(s.what)});
    }
    if (json_)
      session.out.json(document);
    else
      session.out.print(table.text(" ", terminal_width()) + config_line());
    return 0;
  }

  static std::string config_line() {
    const std::string path = config_path();
    if (path.empty()) return "no configuration file is looked for\n";
    const bool absent = ::access(path.c_str(), F_OK) != 0;  // where it is there, it has been read by now
    return fmt::format("configuration file: {}{}\n", path, absent ? " (not there)" : "");
  }

  static Finding cpu() {
    const CpuFacts facts = cpu_facts();
    const auto usable = default_threads();
    const std::uint64_t threads = usable ? *usable : facts.online;
    return {"CPU",
            fmt::format("{}, {} of {} CPUs usable, {}", facts.model.empty() ? "unknown model" : facts.model, threads,
                        facts.online, facts.vectors),
            usable ? "ok" : usable.error().message(),
            {{"model", facts.model}, {"online", facts.online}, {"usable", threads}, {"vectors", facts.vectors}}};
  }

  static Finding memory() {
    const auto budget = default_budget_bytes();
    return {"memory",
            budget ? fmt::format("{}, budget of an operation {}", format_bytes(memory_bytes()), format_bytes(*budget))
                   : format_bytes(memory_bytes()),
            budget ? "ok" : budget.error().message(),
            {{"total_bytes", memory_bytes()}, {"budget_bytes", budget ? Json(*budget) : Json()}}};
  }

  /// A line for each device, or one that says why there is none.
  static void add_cuda(std::vector<Finding>& findings) {
    for (const DeviceInfo& d : devices()) {
      if (d.device.type != Device::Type::cuda) continue;
      findings.push_back(
          {d.device.name(),
           fmt::format("{}, {} ({} free), driver for CUDA {}.{}, compute capability {}.{}", d.description,
                       format_bytes(d.memory_bytes), format_bytes(d.free_bytes), d.driver_version / 1000,
                       d.driver_version % 1000 / 10, d.compute_capability / 10, d.compute_capability % 10),
           "ok",
           {{"available", true},
            {"description", d.description},
            {"memory_bytes", d.memory_bytes},
            {"free_bytes", d.free_bytes},
            {"driver_version", d.driver_version},
            {"compute_capability", d.compute_capability}}});
    }
    const std::string reason = cuda_unavailable_reason();
    if (!reason.empty())
      findings.push_back({"CUDA", reason, "all work is done by the CPU", {{"available", false}, {"detail", reason}}});
  }

  static Finding codecs() {
    std::vector<std::string> names;
    for (const CodecNames& codec : codec_names()) names.push_back(codec.name);
    return {"codecs", fmt::format("{}", fmt::join(names, " ")), "ok", {{"names", names}}};
  }

  /// The table by which reads into device memory choose who decodes.
  static Finding costs() {
    const auto in_use = codec_costs();
    if (!in_use) return {"costs", "", in_use.error().message(), {{"error", in_use.error().message()}}};
    const CostTable& table = in_use->user ? *in_use->user : built_in_costs();
    const std::string from = in_use->user ? in_use->path : "built in";
    return {"costs",
            fmt::format("{}: {}, {}", from, table.machine, table.date),
            in_use->user ? "ok" : "ok; `penstock bench codecs` measures this machine",
            {{"path", in_use->path},
             {"origin", table.origin},
             {"machine", table.machine},
             {"date", table.date},
             {"commit", table.commit}}};
  }

  static Finding nvcomp() {
    const auto named = nvcomp_library();
    if (!named) return {"nvCOMP", "", named.error().message(), {{"available", false}}};
    const auto library = nvcomp::load(*named);
    if (!library)
      return {"nvCOMP",
              named->empty() ? "not found" : library.error().message(),
              named->empty() ? "not needed; our own decoders are used" : library.error().hint(),
              {{"available", false}, {"detail", library.error().message()}}};
    return {"nvCOMP",
            (*library)->version + (named->empty() ? "" : ", " + *named),
            named->empty() ? "present; PENSTOCK_NVCOMP_LIBRARY lets it take part, for data that you trust"
                           : "takes part where it is quicker, for data that you trust",
            {{"available", true}, {"version", (*library)->version}, {"file", (*library)->file}}};
  }

  static Finding gpudirect() {
    const Availability facts = gpudirect_facts();
    return {"GPUDirect",
            facts.detail,
            facts.available ? "present; reads use pinned memory (direct reads come with a later version)"
                            : "reads go through pinned memory",
            {{"available", facts.available}, {"detail", facts.detail}}};
  }

  static Finding io_uring() {
    const Availability facts = io_uring_facts();
    return {"io_uring",
            facts.detail,
            facts.available ? "present; files are read by threads with pread" : "files are read by threads with pread",
            {{"available", facts.available}, {"detail", facts.detail}}};
  }
};

}  // namespace

std::unique_ptr<Command> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace penstock::cli
