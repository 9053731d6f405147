// penstock --array_path P: the contract of the Zarr conformance tests, as zarrs_conformance fulfils it.
// https://github.com/zarrs/zarrs/tree/main/zarrs_conformance
#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/look/elements.hpp"
#include "cli/nodes/reader.hpp"
#include "cli/nodes/walk.hpp"

namespace penstock::cli {
namespace {

class ArrayPath : public Command {
  std::string path_;

 public:
  void usage(Usage& usage) override {
    usage.about("One element a line in C order, each as JSON as zarr v3 metadata writes a fill value.");
    usage.argument("P", path_, "path of an array");
    usage.example("penstock --array_path data.zarr", "print all elements");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const Array array, open_array(path_));
    const Dataset dataset = array.dataset();
    ElementWriter writer(session.out, Layout::lines, dataset.dtype, dataset.shape);
    PENSTOCK_TRY(read_in_slices(array, whole(dataset.shape), Device{}, Options{},
                                [&](ByteView elements) { return writer.write(elements); }));
    writer.finish();
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_array_path() { return std::make_unique<ArrayPath>(); }

}  // namespace penstock::cli
