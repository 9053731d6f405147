// How much a subject and its reconstruction are said to be, before anything is written.
#include <gtest/gtest.h>

#include <cstdlib>

#include "folder.hpp"
#include "oct/file/metrics.hpp"
#include "volumes.hpp"

namespace fs = std::filesystem;

namespace penstock::oct_test {
namespace {

std::uint64_t said(const OctResult& result, std::string_view name) {
  return oct::metric(result.metrics, name).value().get<std::uint64_t>();
}

std::uint64_t raw_bytes_in(const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".bin") bytes += entry.file_size();
  return bytes;
}

/// Bytes of elements of all images of a folder, coarser levels left out.
std::uint64_t elements_in(const std::string& folder, const std::string& except = "/none") {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".ome.zarr") || path.ends_with(except)) continue;
    const std::size_t rank = path.ends_with("_aip.ome.zarr") ? 2 : 3;
    bytes += sizeof(float) * element_count(oct::open_volume(path, rank).value().shape).value();
  }
  return bytes;
}

}  // namespace

TEST(Amounts, AreThoseThatAreWritten) {
  const Folder folder;
  const std::map<std::string, std::string> options = {
      {"seed", "4"}, {"traps", "shallow"}, {"missing_tiles", "2"}, {"dry_run", "true"}};
  const auto told = run("simulate", {folder / "subject"}, options);
  ASSERT_TRUE(told) << told.error().message();
  EXPECT_FALSE(fs::exists(folder / "subject"));
  EXPECT_NE(told->text.find("memory: 3.75 MiB for each thread"), std::string::npos) << told->text;
  simulate(folder, "4", {{"traps", "shallow"}, {"missing_tiles", "2"}});
  EXPECT_EQ(said(*told, "raw_bytes"), raw_bytes_in(folder / "subject/raw"));
  EXPECT_LT(said(*told, "raw_bytes"), 42024960u);  // that of a subject without these traps
  const auto truth = static_cast<double>(elements_in(folder / "subject/truth"));
  EXPECT_GT(static_cast<double>(said(*told, "truth_bytes")), truth);  // maps of depth besides
  EXPECT_LT(static_cast<double>(said(*told, "truth_bytes")), 1.05 * truth);

  auto how = settings(folder);
  how["depth_um"] = "600";  // all of it
  const auto made = run("reconstruct", {folder / "subject/raw", folder / "out"}, how);
  ASSERT_TRUE(made) << made.error().message();
  const Shape volume = open_made(folder / "out/3d_volume.ome.zarr").shape;
  const Json shape = oct::metric(told->metrics, "volume_shape").value();
  for (std::size_t d = 0; d < 3; ++d) EXPECT_NEAR(shape[d].get<double>(), static_cast<double>(volume[d]), 1) << d;
  EXPECT_NEAR(static_cast<double>(said(*told, "working_bytes")) /
                  static_cast<double>(elements_in(folder / "out", "3d_volume.ome.zarr")),
              1, 0.02);
}

}  // namespace penstock::oct_test
