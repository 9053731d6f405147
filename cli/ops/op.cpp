// penstock op
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/report_text.hpp"
#include "cli/kit/table.hpp"
#include "cli/nodes/describe.hpp"
#include "cli/nodes/layout.hpp"
#include "cli/nodes/target.hpp"
#include "cli/nodes/walk.hpp"
#include "core/json.hpp"
#include "penstock/ops.hpp"

namespace penstock::cli {
namespace {

std::string list_of_operators() {
  std::string text = "Operators, with their arguments:\n";
  for (const OpInfo& op : operators()) text += fmt::format("  {}: {} ({})\n", op.name, op.summary, op.arguments);
  return text;
}

class Op : public Command {
  std::string from_, to_;
  std::vector<std::string> do_;
  std::optional<std::string> device_;
  bool dry_run_ = false, json_ = false;
  LayoutWords layout_;
  StoreWords words_;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Applies operators one after the other to an array of any size, tile by tile within the memory budget, and "
        "writes the result as a new array with the chunks, shards and codecs of the old one. Reading, work and writing "
        "overlap; the metadata come last, so that a run that is stopped leaves nothing that opens.\n\n" +
        list_of_operators());
    usage.argument("IN", from_, "array");
    usage.argument("OUT", to_, "a new directory, or a new file that ends in .zip");
    usage.option("--do", "OPERATOR", do_, "an operator and its arguments, e.g. \"gaussian_filter sigma=2,1,1\"");
    usage.option("--device", "D", device_, "where the operators work: cpu, cuda, cuda:1 or auto; default auto");
    layout_.declare(usage);
    usage.flag("--dry-run", dry_run_, "print operators, tiles, halos, bytes read twice and memory; write nothing");
    words_.declare_durable(usage);
    words_.declare(usage);
    words_.declare_target(usage, "IN", "OUT");
    usage.flag("--json", json_, "print the report as JSON");
    resources_.declare(usage);
    resources_.declare_talk(usage, "first print, to standard error, what --dry-run prints");
    usage.example("penstock op big.zarr small.zarr --do \"gaussian_filter sigma=2\" --do \"resize scale=0.5\"",
                  "smooth, then halve");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const StoreOptions writing, words_.target_options());
    if (do_.empty())
      return Error(ErrorCode::invalid_argument, "no operator is given").set_hint("--do \"gaussian_filter sigma=2\"");
    std::vector<OpCall> calls;
    for (const std::string& text : do_) {
      PENSTOCK_ASSIGN_IN(OpCall call, parse_op_call(text), "--do");
      calls.push_back(std::move(call));
    }
    PENSTOCK_ASSIGN(const Array from, open_array(from_, how));
    PENSTOCK_ASSIGN_IN(const LazyArray made, LazyArray::make(from, calls), "--do");
    PENSTOCK_ASSIGN_IN(const Device device, Device::parse(device_.value_or("auto")), "--device");
    CopyChanges changes;
    PENSTOCK_ASSIGN(const Dataset usual, made.dataset());
    PENSTOCK_TRY(layout_.put_into(changes, usual));
    PENSTOCK_ASSIGN(const Dataset dataset, made.dataset(changes));
    PENSTOCK_TRY(check_target());
    if (dry_run_ || resources_.verbose) {
      PENSTOCK_ASSIGN(const std::string plan, made.explain(dataset, device, options));
      PENSTOCK_ASSIGN(const std::string chunks, chunks_text(dataset));
      const std::string text = fmt::format("{}output    {} {}, {}, {}\n", plan, shape_text(dataset),
                                           dataset.dtype.name(), chunks, codecs_text(dataset));
      if (!dry_run_)
        std::fputs(text.c_str(), stderr);
      else
        session.out.print(text);
      if (dry_run_) return 0;
    }
    const TargetNode target = split_target(to_);
    PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(target.store_url, StoreMode::create, writing));
    PENSTOCK_ASSIGN(const Report report,
                    made.write(store, target.path, changes, Array::IfExists::fail, device, options));
    if (json_) {
      PENSTOCK_ASSIGN(const Json document, parse_json(report.json()));
      session.out.json(document);
    } else if (!resources_.quiet) {
      session.out.print(report_text(report, terminal_width()));
    }
    return 0;
  }

 private:
  [[nodiscard]] Status check_target() const {
    const TargetNode target = split_target(to_);
    if (overlaps(split_target(from_).store_url, target.store_url))
      return Error(ErrorCode::invalid_argument, fmt::format("{} and {} overlap; write to another place", from_, to_));
    if (const auto around = array_around(target))
      return Error(ErrorCode::invalid_argument, fmt::format("{}: is inside the array {}", to_, *around))
          .set_hint("an array's directory holds its chunks only; write to a place outside it.");
    PENSTOCK_ASSIGN(const Occupant found, occupant(target));
    if (found != Occupant::nothing)
      return Error(ErrorCode::already_exists, fmt::format("{}: already exists", to_))
          .set_hint("write to another place, or remove it first.");
    return check_target_name(target);
  }
};

}  // namespace

std::unique_ptr<Command> make_op() { return std::make_unique<Op>(); }

}  // namespace penstock::cli
