// penstock explain
#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/nodes/walk.hpp"
#include "core/json.hpp"

namespace penstock::cli {
namespace {

class Explain : public Command {
  std::string store_;
  std::optional<std::string> region_, device_;
  bool json_ = false;
  Resources resources_;
  StoreWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Says what a read would do: chunks and objects touched, the path of each stage and its reason, and how the "
        "memory budget is used. Reads the metadata only.");
    usage.argument("STORE", store_, "array");
    usage.option("--region", "R", region_, "the region to read, with NumPy's rules; default all");
    usage.option("--device", "D", device_, "where the elements go: cpu, cuda, cuda:1 or auto; default auto");
    words_.declare(usage);
    usage.flag("--json", json_, "print JSON");
    resources_.declare(usage);
    usage.example("penstock explain brain.ome.zarr/0 --region 1000:1100,0:4096,0:4096 --device cuda:0", "a plan");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const Array array, open_array(store_, how));
    const Dataset dataset = array.dataset();
    PENSTOCK_ASSIGN(const Selection selection, region_option(region_, dataset.shape));
    PENSTOCK_ASSIGN_IN(const Device device, Device::parse(device_.value_or("auto")), "--device");
    PENSTOCK_ASSIGN(const Plan plan, array.plan(selection.region, device, options));
    if (json_) {
      PENSTOCK_ASSIGN(const Json document, parse_json(plan.json()));
      session.out.json(document);
    } else {
      session.out.print(plan.text());
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_explain() { return std::make_unique<Explain>(); }

}  // namespace penstock::cli
