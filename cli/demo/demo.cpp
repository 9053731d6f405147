// penstock demo
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/demo/page.hpp"
#include "cli/demo/png.hpp"
#include "cli/demo/source.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/outfile.hpp"
#include "core/json.hpp"
#include "penstock/ops.hpp"

namespace penstock::cli {
namespace {

/// The image options without one axis.
PyramidOptions without_axis(PyramidOptions image, std::size_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  if (!image.axes.empty()) image.axes.erase(image.axes.begin() + at);
  if (!image.scale.empty()) image.scale.erase(image.scale.begin() + at);
  return image;
}

Dataset projected_dataset(const Dataset& from, std::size_t axis) {
  Dataset to;
  to.dtype = from.dtype;
  to.fill.assign(from.dtype.size_bytes, std::byte{0});
  to.codecs = {{"bytes", from.dtype.size_bytes > 1 ? R"({"endian":"little"})" : "{}"},
               {"zstd", R"({"level":3,"checksum":false})"}};
  for (std::size_t d = 0; d < from.rank(); ++d) {
    if (d == axis) continue;
    to.shape.push_back(from.shape[d]);
    to.chunk_shape.push_back(std::clamp<std::uint64_t>(from.shape[d], 1, d + 2 < from.rank() ? 1 : 1024));
    if (!from.dims.empty()) to.dims.push_back(from.dims[d]);
  }
  return to;
}

Status write_file(const std::string& path, ByteView bytes) {
  PENSTOCK_ASSIGN(OutFile file, OutFile::create(path, true));
  Output out(file.fd());
  out.write(bytes);
  PENSTOCK_TRY_IN(out.flush(), path);
  return file.commit();
}

class Demo : public Command {
  std::string store_, folder_;
  std::optional<std::string> device_;
  bool force_ = false, json_ = false;
  Resources resources_;
  StoreWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Reads the array (of an image the finest level, of a group the largest array) to the best processor and takes "
        "the maximum along the first axis of space there; writes the projection and a multiscale pyramid of the whole "
        "as OME-Zarr, the projection as a PNG, and a page that says which way the bytes took. The array has 3 to 5 "
        "dimensions of numbers.");
    usage.argument("STORE", store_, "array, OME-NGFF image or group");
    usage.argument("OUT", folder_, "folder for the results");
    usage.option("--device", "D", device_, "where to project: cpu, cuda, cuda:1 or auto; default auto");
    words_.declare(usage);
    usage.flag("--force", force_, "replace earlier results");
    usage.flag("--json", json_, "print JSON");
    resources_.declare(usage);
    usage.example("penstock demo brain.ome.zarr results", "projection, pyramid, pictures");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const DemoSource source, open_demo_source(store_, how));
    PENSTOCK_ASSIGN_IN(const Device device, Device::parse(device_.value_or("auto")), "--device");
    const Dataset dataset = source.array.dataset();
    if (dataset.rank() < 3 || dataset.rank() > 5)
      return Error(ErrorCode::invalid_argument, fmt::format("{} has {} dimension{}; the demo takes 3 to 5", source.url,
                                                            dataset.rank(), dataset.rank() == 1 ? "" : "s"));
    const std::size_t axis = dataset.rank() - 3;
    const auto if_exists = force_ ? Array::IfExists::overwrite : Array::IfExists::fail;

    std::vector<Report> parts(2);
    const std::size_t axes[] = {axis};
    PENSTOCK_ASSIGN(const Tensor projection, reduce_array(source.array, "maximum", axes, device, options, &parts[0]));
    parts[0].operation = "project";
    PENSTOCK_ASSIGN(std::shared_ptr<Store> pyramid, open_store(folder_ + "/pyramid.ome.zarr", StoreMode::create));
    PENSTOCK_ASSIGN(parts[1], write_pyramid(source.array, pyramid, "", source.image, if_exists, options));
    PENSTOCK_TRY(write_projection(source, axis, projection, if_exists, options));
    PENSTOCK_TRY(write_picture(dataset, projection));
    const std::string page = demo_page("penstock demo", source.url, "projection.png", parts);
    PENSTOCK_TRY(write_file(folder_ + "/report.html", as_bytes(page)));
    PENSTOCK_ASSIGN(const Json document, report_json(source, parts));
    PENSTOCK_TRY(write_file(folder_ + "/report.json", as_bytes(dump_json(document, 2, NonFinite::quoted) + "\n")));
    if (json_)
      session.out.json(document);
    else
      print(session, source, parts);
    return 0;
  }

 private:
  Status write_projection(const DemoSource& source, std::size_t axis, const Tensor& projection,
                          Array::IfExists if_exists, const Options& options) const {
    PENSTOCK_ASSIGN(std::shared_ptr<Store> store, open_store(folder_ + "/projection.ome.zarr", StoreMode::create));
    PENSTOCK_ASSIGN(Array level, Array::create(store, "0", projected_dataset(source.array.dataset(), axis), if_exists));
    PENSTOCK_TRY(level.write(whole(level.dataset().shape), projection.view(), options));
    PENSTOCK_TRY(
        write_pyramid(level, store, "", without_axis(source.image, axis), Array::IfExists::overwrite, options));
    return {};
  }

  /// The last two axes; of others (time, channel) the first.
  Status write_picture(const Dataset& dataset, const Tensor& projection) const {
    const std::uint64_t width = dataset.shape.back(), height = dataset.shape[dataset.rank() - 2];
    const std::uint64_t bytes = width * height * dataset.dtype.size_bytes;
    PENSTOCK_ASSIGN(const Bytes grey,
                    to_grey(dataset.dtype, {static_cast<const std::byte*>(projection.view().data), bytes}));
    PENSTOCK_ASSIGN(const Bytes png, encode_png(grey, width, height));
    return write_file(folder_ + "/projection.png", png);
  }

  Result<Json> report_json(const DemoSource& source, const std::vector<Report>& parts) const {
    Json document = {{"source", source.url}, {"results", folder_}};
    for (const Report& r : parts) {
      PENSTOCK_ASSIGN(document[r.operation], parse_json(r.json()));
    }
    return document;
  }

  void print(Session& session, const DemoSource& source, const std::vector<Report>& parts) const {
    if (source.url != store_) session.out.print(fmt::format("source {}\n", source.url));
    for (const Report& r : parts) session.out.print(r.text() + "\n");
    session.out.print(fmt::format(
        " wrote {0}/pyramid.ome.zarr, {0}/projection.ome.zarr, {0}/projection.png, {0}/report.html, {0}/report.json\n",
        folder_));
  }
};

}  // namespace

std::unique_ptr<Command> make_demo() { return std::make_unique<Demo>(); }

}  // namespace penstock::cli
