// penstock tracks density, penstock tracks picture
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/commands.hpp"
#include "cli/demo/png.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/outfile.hpp"
#include "cli/kit/output.hpp"
#include "core/units.hpp"
#include "penstock/tractogram.hpp"

namespace penstock::cli {
namespace {

/// What both commands take.
struct DensityWords {
  std::string file;
  std::optional<std::string> output, reference;
  TractogramOptions how;
  Resources resources;

  void declare(Usage& usage, const char* output_help) {
    usage.argument("FILE", file, ".trx (a file or a folder), .trk or .tck");
    usage.option("--output", "FILE", output, output_help).kind = ValueKind::path;
    usage
        .option("--reference", "IMAGE", reference,
                "the image whose voxels are counted in; default the file's own; a "
                "TCK does not say one")
        .kind = ValueKind::path;
    usage.flag("--force", how.force, "replace an existing file");
    resources.declare(usage);
  }
  Result<Options> ready(const char* hint) {
    if (!output) return Error(ErrorCode::invalid_argument, "--output FILE is needed").set_hint(hint);
    how.reference = reference.value_or("");
    return resources.options();
  }
};

std::string counted(const TractogramDensity& d) {
  const auto voxels = std::count_if(d.counts.begin(), d.counts.end(), [](float n) { return n > 0; });
  return fmt::format(
      "{} streamlines in {} of {} voxels, {} in one at most; {} points outside", format_count(d.summary.streamlines),
      format_count(static_cast<std::uint64_t>(voxels)), format_count(d.counts.size()),
      d.counts.empty() ? 0 : *std::max_element(d.counts.begin(), d.counts.end()), format_count(d.outside));
}

class TracksDensity : public Command {
  DensityWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "An image (.nii.gz, float32) of how many streamlines have a point in each voxel, each streamline counted once, "
        "as DIPY's density_map.");
    words_.declare(usage, "the image to write: .nii.gz");
    usage.example("penstock tracks density out.trx -o density.nii.gz", "");
  }
  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const Options options, words_.ready("penstock tracks density out.trx -o density.nii.gz"));
    PENSTOCK_ASSIGN(const auto d, write_tractogram_density(words_.file, *words_.output, words_.how, options));
    session.out.print(fmt::format("{}: {}\n", *words_.output, counted(d)));
    return 0;
  }
};

/// Sums along x, y and z beside each other, z and y upwards, each voxel a square of `scale`; logarithms, from black to
/// white.
struct Projections {
  std::uint64_t width = 0, height = 0;
  std::vector<std::byte> grey;

  Projections(const TractogramDensity& d, std::uint64_t scale) {
    const auto [nx, ny, nz] = d.dims;
    constexpr std::uint64_t kGap = 1;
    const std::uint64_t columns = ny + nx + nx + 2 * kGap, rows = std::max(nz, ny);
    std::vector<double> sums(columns * rows);
    double most = 0;
    const auto add = [&](std::uint64_t column, std::uint64_t up, float n) {
      double& sum = sums[(rows - 1 - up) * columns + column];
      sum += static_cast<double>(n);
      most = std::max(most, sum);
    };
    for (std::uint64_t z = 0, i = 0; z < nz; ++z)
      for (std::uint64_t y = 0; y < ny; ++y)
        for (std::uint64_t x = 0; x < nx; ++x, ++i) {
          add(y, z, d.counts[i]);
          add(ny + kGap + x, z, d.counts[i]);
          add(ny + nx + 2 * kGap + x, y, d.counts[i]);
        }
    width = columns * scale;
    height = rows * scale;
    grey.resize(width * height);
    for (std::uint64_t r = 0; r < height; ++r)
      for (std::uint64_t c = 0; c < width; ++c) {
        const double sum = sums[r / scale * columns + c / scale];
        grey[r * width + c] =
            static_cast<std::byte>(most > 0 ? std::lround(255 * std::log1p(sum) / std::log1p(most)) : 0);
      }
  }
};

class TracksPicture : public Command {
  DensityWords words_;
  std::optional<std::string> scale_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "A picture (PNG) of how many streamlines have a point in each voxel, added up along x, along y and along z, "
        "beside each other, by the logarithm, from black to white.");
    words_.declare(usage, "the picture to write: .png");
    usage.option("--scale", "N", scale_, "side of a voxel in the picture, 1 to 64; default 4");
    usage.example("penstock tracks picture out.trx -o out.png", "");
  }
  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const Options options, words_.ready("penstock tracks picture out.trx -o out.png"));
    std::uint64_t scale = 4;
    if (scale_) {
      PENSTOCK_ASSIGN_IN(scale, parse_count(*scale_), "--scale");
    }
    if (scale < 1 || scale > 64) return Error(ErrorCode::invalid_argument, "--scale: must be from 1 to 64");
    PENSTOCK_ASSIGN(OutFile file, OutFile::create(*words_.output, words_.how.force));
    PENSTOCK_ASSIGN(const auto d, tractogram_density(words_.file, words_.how, options));
    const Projections picture(d, scale);
    PENSTOCK_ASSIGN(const Bytes png, encode_png(picture.grey, picture.width, picture.height));
    Output out(file.fd());
    out.write(png.view());
    PENSTOCK_TRY_IN(out.flush(), *words_.output);
    PENSTOCK_TRY(file.commit());
    session.out.print(fmt::format("{}: {}\n", *words_.output, counted(d)));
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_tracks_density() { return std::make_unique<TracksDensity>(); }
std::unique_ptr<Command> make_tracks_picture() { return std::make_unique<TracksPicture>(); }

}  // namespace penstock::cli
