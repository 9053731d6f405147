#include "cli/oct/oct.hpp"

#include <fmt/format.h>

#include <deque>

#include "cli/kit/command.hpp"

namespace penstock::cli {
namespace {

/// "--depth-um" of "depth_um".
std::string option_name(std::string name) {
  for (char& c : name)
    if (c == '_') c = '-';
  return "--" + name;
}

/// "UM" of "depth_um": the unit where the name ends in one.
std::string value_name(const OctOption& option) {
  if (option.kind == OctOption::Kind::path) return "FILE";
  if (option.kind == OctOption::Kind::text) return "NAME";
  for (const char* unit : {"um", "mm"})
    if (option.name.ends_with(std::string("_") + unit)) return unit[0] == 'u' ? "UM" : "MM";
  return "N";
}

class Oct : public Command {
  const OctStep& step_;
  std::deque<std::string> paths_;                  // their addresses stay
  std::deque<std::optional<std::string>> values_;  // one for each option of the step
  std::deque<bool> flags_;
  std::optional<std::string> device_;
  bool use_gpu_ = false, no_use_gpu_ = false, force_ = false, json_ = false;
  Resources resources_;

 public:
  explicit Oct(const OctStep& step) : step_(step) {}

  void usage(Usage& usage) override {
    usage.about(step_.about);
    for (const OctArgument& argument : step_.arguments)
      usage.argument(argument.name, paths_.emplace_back(), argument.help);
    for (const OctOption& option : step_.options) declare(usage, option);
    usage.option("--device", "D", device_, "where operators run: cpu, cuda, cuda:1 or auto; default cpu");
    usage.flag("--use-gpu", use_gpu_, "as --device auto");
    usage.flag("--no-use-gpu", no_use_gpu_, "as --device cpu");
    usage.flag("--force", force_, "replace what exists");
    usage.flag("--json", json_, "print the metrics as JSON");
    resources_.declare(usage);
    usage.flag("--quiet", resources_.quiet, "print nothing but errors");
    usage.example(fmt::format("penstock oct {} {}", step_.name, step_.example), step_.summary);
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(OctCall call, call_of());
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    OctResult done;
    {
      const ProgressEnd end;
      PENSTOCK_ASSIGN(done, run_oct(call, options));
    }
    if (json_)
      session.out.print(done.metrics);
    else if (!resources_.quiet)
      session.out.print(done.text);
    if (!json_ && !resources_.quiet)
      for (const std::string& warning : done.warnings)
        fmt::print(stderr, "penstock oct {}: warning: {}\n", step_.name, warning);
    return done.good ? 0 : 1;
  }

 private:
  void declare(Usage& usage, const OctOption& option) {
    if (option.kind == OctOption::Kind::flag) {
      usage.flag(option_name(option.name), flags_.emplace_back(false), option.help);
      return;
    }
    std::string help = option.help;
    if (!option.fallback.empty()) help += "; default " + option.fallback;
    if (option.required) help += "; needed";
    Option& declared = usage.option(option_name(option.name), value_name(option), values_.emplace_back(), help);
    declared.choices = option.choices;
    if (!option.choices.empty()) declared.kind = ValueKind::choice;
    if (option.kind == OctOption::Kind::path) declared.kind = ValueKind::path;
  }

  [[nodiscard]] Result<OctCall> call_of() const {
    OctCall call;
    call.step = step_.name;
    call.paths.assign(paths_.begin(), paths_.end());
    call.force = force_;
    std::size_t value = 0, flag = 0;
    for (const OctOption& option : step_.options) {
      if (option.kind == OctOption::Kind::flag) {
        if (flags_[flag++]) call.options[option.name] = "true";
      } else if (const auto& text = values_[value++]) {
        call.options[option.name] = *text;
      } else if (option.required) {
        return Error(ErrorCode::invalid_argument,
                     fmt::format("{} is needed: {}", option_name(option.name), option.help))
            .set_hint("see --help");
      }
    }
    if (static_cast<int>(use_gpu_) + static_cast<int>(no_use_gpu_) + static_cast<int>(device_.has_value()) > 1)
      return Error(ErrorCode::invalid_argument, "--device, --use-gpu, --no-use-gpu: only one of them can be");
    PENSTOCK_ASSIGN_IN(call.device, Device::parse(use_gpu_ ? "auto" : device_.value_or("cpu")), "--device");
    return call;
  }
};

}  // namespace

std::unique_ptr<Command> make_oct(const OctStep& step) { return std::make_unique<Oct>(step); }

}  // namespace penstock::cli
