// penstock cat
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/outfile.hpp"
#include "cli/kit/progress.hpp"
#include "cli/look/elements.hpp"
#include "cli/look/npy.hpp"
#include "cli/nodes/reader.hpp"
#include "cli/nodes/walk.hpp"

namespace penstock::cli {
namespace {

class Cat : public Command {
  std::string store_;
  std::optional<std::string> region_, format_, output_, device_;
  bool force_ = false;
  Resources resources_;
  StoreWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Writes the elements of a region in C order. Formats: npy (NumPy), raw (bytes of this machine's order), text "
        "(a line for each row), json (nested arrays). As in NumPy an index such as 5 drops its dimension, 5:6 keeps "
        "it. Works in bounded memory, however large the region is.");
    usage.argument("STORE", store_, "array: a directory, a zip, or a path into one");
    usage.option("--region", "R", region_, "what to read, with NumPy's rules: 0:10,5,::2,...; default all");
    Option& format =
        usage.option("--format", "F", format_, "npy, raw, text or json; default by the name of --output, else text");
    format.kind = ValueKind::choice;
    format.choices = {"npy", "raw", "text", "json"};
    usage.option("--output", "FILE", output_, "write a file (whole or not at all) instead of standard output").kind =
        ValueKind::path;
    usage.flag("--force", force_, "replace an existing FILE");
    words_.declare(usage);
    usage.option("--device", "D", device_, "decode on cpu, cuda, cuda:1 or auto; default cpu");
    resources_.declare(usage);
    resources_.declare_talk(usage, "also print, to standard error, how the elements were read");
    usage.example("penstock cat vol.zarr/0 -r 100,:,: -o plane.npy", "one plane for NumPy");
    usage.example("penstock cat vol.zarr/0 --region 0:2,0:4,0:4", "a look at some voxels");
    usage.example("penstock cat vol.zarr/0 --format raw | sha256sum", "a checksum of all elements");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const std::string format, chosen_format());
    if (!output_ && (format == "npy" || format == "raw") && isatty(STDOUT_FILENO) == 1)
      return Error(ErrorCode::invalid_argument, fmt::format("{} is not for a terminal", format))
          .set_hint("use --output FILE, a pipe, or --format text.");
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const Array array, open_array(store_, how));
    const Dataset dataset = array.dataset();
    PENSTOCK_ASSIGN(const Selection selection, region_option(region_, dataset.shape));
    Device device;
    if (device_) {
      PENSTOCK_ASSIGN_IN(device, Device::parse(*device_), "--device");
    }
    if (!output_) {
      PENSTOCK_ASSIGN(const Report report, emit(session.out, format, array, selection, device, options));
      say(report);
      return 0;
    }
    PENSTOCK_ASSIGN(OutFile file, OutFile::create(*output_, force_));
    Output out(file.fd());
    PENSTOCK_ASSIGN_IN(const Report report, emit(out, format, array, selection, device, options), *output_);
    PENSTOCK_TRY_IN(out.flush(), *output_);
    PENSTOCK_TRY(file.commit());
    say(report);
    return 0;
  }

 private:
  [[nodiscard]] Result<std::string> chosen_format() const {
    if (format_) return *format_;
    if (!output_) return std::string("text");
    if (output_->ends_with(".npy")) return std::string("npy");
    if (output_->ends_with(".raw") || output_->ends_with(".bin")) return std::string("raw");
    if (output_->ends_with(".json")) return std::string("json");
    // A name without an ending promises nothing, and neither does a device such as /dev/null.
    if (output_->ends_with(".txt") || !std::filesystem::path(*output_).has_extension()) return std::string("text");
    return Error(ErrorCode::invalid_argument,
                 fmt::format("--output {}: the name says no format that cat writes", *output_))
        .set_hint("cat knows .npy, .raw, .bin, .txt and .json; with another name, --format says which it is.");
  }

  void say(const Report& report) const {
    if (!resources_.verbose) return;
    progress_done();
    std::fputs(report.text().c_str(), stderr);
  }

  static Result<Report> emit(Output& out, const std::string& format, const Array& array, const Selection& selection,
                             Device device, const Options& options) {
    const Dataset dataset = array.dataset();
    const Shape shape = selection.shape();
    if (format == "npy") {
      PENSTOCK_ASSIGN(const std::string header, npy_header(dataset.dtype, shape));
      out.print(header);
    }
    if (format == "raw" && dataset.dtype.is_vlen())
      return Error(ErrorCode::unsupported, fmt::format("{} elements have no raw form", dataset.dtype.name()))
          .set_hint("use --format text or json.");
    if (format == "npy" || format == "raw")
      return read_in_slices(array, selection.region, device, options, [&](ByteView elements) {
        out.write(elements);
        return out.status();
      });
    ElementWriter writer(out, format == "json" ? Layout::json : Layout::text, dataset.dtype, shape);
    PENSTOCK_ASSIGN(Report report, read_in_slices(array, selection.region, device, options,
                                                  [&](ByteView elements) { return writer.write(elements); }));
    writer.finish();
    PENSTOCK_TRY(out.status());
    return report;
  }
};

}  // namespace

std::unique_ptr<Command> make_cat() { return std::make_unique<Cat>(); }

}  // namespace penstock::cli
