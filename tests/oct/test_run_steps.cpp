// Files of steps: neighbours that work tile by tile give, as one, the bytes that they give one by one, and read less.
#include <gtest/gtest.h>

#include <algorithm>

#include "folder.hpp"
#include "oct/file/metrics.hpp"
#include "oct/list.hpp"
#include "oct/plan/steps_file.hpp"
#include "oct/run.hpp"
#include "volumes.hpp"

using namespace penstock;
using namespace penstock::oct_test;

namespace {

/// Every file of a folder, by its name in it.
std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    files[std::filesystem::relative(entry.path(), folder).string()] = all.str();
  }
  return files;
}

std::uint64_t bytes(const OctResult& done, const std::string& name) {
  return oct::metric(done.metrics, name).value().get<std::uint64_t>();
}

struct Named {
  std::string name;
  std::map<std::string, std::string> options;
};
const std::vector<Named> kSteps = {{"resample-mosaic", {{"resolution_um", "11"}}},
                                   {"fix-focal-curvature", {{"sigma_xy", "3"}}},
                                   {"fix-illumination", {{"method", "basic"}, {"fit", "slice"}, {"max_samples", "30"}}},
                                   {"crop-below-interface", {{"depth_um", "300"}, {"tiles", "true"}}},
                                   {"normalize", {{"tiles", "true"}, {"n_levels", "2"}}}};

std::string steps_text(const std::string& in, const std::string& out) {
  std::string text = "input = \"" + in + "\"\noutput = \"" + out + "\"\n";
  for (const Named& step : kSteps) {
    text += "[[step]]\nname = \"" + step.name + "\"\n";
    for (const auto& [name, value] : step.options) {
      const bool bare = value == "true" || value.find_first_not_of("0123456789.") == std::string::npos;
      text += name + " = " + (bare ? value : "\"" + value + "\"") + "\n";
    }
  }
  return text;
}

/// Runs kSteps one by one; the last one's output is `folder`/one/ready.ome.zarr.  Elements that went, in bytes.
std::uint64_t one_by_one(const Folder& folder, const std::string& mosaic) {
  std::uint64_t sum = 0;
  std::string in = mosaic;
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    const std::string out =
        folder / (i + 1 == kSteps.size() ? "one/ready.ome.zarr" : "between" + std::to_string(i) + ".ome.zarr");
    const auto done = run(kSteps[i].name, {in, out}, kSteps[i].options);
    EXPECT_TRUE(done) << kSteps[i].name << ": " << done.error().message();
    if (!done) return 0;
    sum += bytes(*done, "read_bytes") + bytes(*done, "written_bytes");
    in = out;
  }
  return sum;
}

}  // namespace

TEST(RunSteps, AsOneGiveTheBytesOfOneByOneAndMoveAThird) {
  const Folder folder;
  simulate(folder, "6");
  const std::string mosaic = folder / "subject/truth/mosaic_grid_z01.ome.zarr";
  const std::uint64_t each = one_by_one(folder, mosaic);
  folder.write("steps.toml", steps_text(mosaic, folder / "fused/ready.ome.zarr"));
  const auto plan = run("explain", {folder / "steps.toml"});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_FALSE(std::filesystem::exists(folder / "fused"));
  EXPECT_NE(plan->text.find("one by one"), std::string::npos) << plan->text;
  const auto done = run("run", {folder / "steps.toml"});
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(files_of(folder / "fused/ready.ome.zarr"), files_of(folder / "one/ready.ome.zarr"));
  const std::uint64_t moved = bytes(*done, "read_bytes") + bytes(*done, "written_bytes");
  EXPECT_LE(3 * moved, each);
  EXPECT_EQ(bytes(*plan, "read_bytes"), bytes(*done, "read_bytes"));
  EXPECT_GE(bytes(*plan, "written_bytes"), bytes(*done, "written_bytes"));
  EXPECT_GE(bytes(*plan, "one_by_one_read_bytes") + bytes(*plan, "one_by_one_written_bytes"), each);
  // Each step has said what it found, beside the result.
  for (const char* file : {"ready_focal.npy", "ready_flatfield.npy", "ready_crop_below_interface_metrics.json",
                           "ready_resample_mosaic_metrics.json", "ready_normalize_metrics.json"})
    EXPECT_TRUE(std::filesystem::exists(folder / ("fused/" + std::string(file)))) << file;
  EXPECT_EQ(run("run", {folder / "steps.toml"}).error().code(), ErrorCode::already_exists);
  EXPECT_EQ(bytes(*run("run", {folder / "steps.toml"}, {{"dry_run", "true"}}), "read_bytes"),
            bytes(*plan, "read_bytes"));
}

TEST(RunSteps, AreTheSameInLittleMemoryAndInShards) {
  const Folder folder;
  simulate(folder, "9");
  const std::string plain = folder / "subject/truth/mosaic_grid_z00.ome.zarr", sharded = folder / "m_z00.ome.zarr";
  const oct::Volume from = open_made(plain);
  const std::vector<float> values = values_of(plain);
  const std::uint64_t cols = from.shape[2], pixels = from.shape[1] * cols;
  write_volume(
      sharded, from.shape, from.chunks,
      [&](std::uint64_t z, std::uint64_t r, std::uint64_t c) { return values[z * pixels + r * cols + c]; }, 2);
  for (const auto& [in, name] : {std::pair(plain, "plain"), std::pair(sharded, "sharded")})
    folder.write(std::string(name) + ".toml", steps_text(in, folder / (std::string(name) + ".ome.zarr")));
  folder.write("tight.toml", steps_text(plain, folder / "tight.ome.zarr"));
  const auto done = run("run", {folder / "plain.toml"});
  ASSERT_TRUE(done) << done.error().message();
  const auto in_shards = run("run", {folder / "sharded.toml"});
  ASSERT_TRUE(in_shards) << in_shards.error().message();
  EXPECT_EQ(values_of(folder / "sharded.ome.zarr"), values_of(folder / "plain.ome.zarr"));
  EXPECT_GT(open_made(folder / "sharded.ome.zarr").objects[1], open_made(folder / "sharded.ome.zarr").chunks[1]);
  Options small;
  small.budget_bytes = std::uint64_t{8} << 20;
  small.threads = 2;
  const auto tight = run("run", {folder / "tight.toml"}, {}, false, small);
  ASSERT_TRUE(tight) << tight.error().message();
  EXPECT_EQ(values_of(folder / "tight.ome.zarr"), values_of(folder / "plain.ome.zarr"));
  EXPECT_GT(bytes(*tight, "read_bytes"), bytes(*done, "read_bytes"));  // what could not be kept was read again
}

TEST(RunSteps, StopAtStepsThatAreNotOfTiles) {
  const Folder folder;
  simulate(folder, "2");
  const std::string mosaic = folder / "subject/truth/mosaic_grid_z01.ome.zarr";
  folder.write("steps.toml", "input = \"" + mosaic + "\"\n[[step]]\nname = \"fix_illumination\"\noutput = \"" +
                                 (folder / "even.ome.zarr") +
                                 "\"\n[[step]]\nname = \"aip\"\nn-levels = 1\noutput = \"" + (folder / "aip.ome.zarr") +
                                 "\"\n[[step]]\nname = \"estimate-transform\"\noutput = \"" + (folder / "t.npy") +
                                 "\"\n[[step]]\nname = \"stitch\"\ninput = \"" + (folder / "even.ome.zarr") +
                                 "\"\ntransform = \"" + (folder / "t.npy") + "\"\noutput = \"" +
                                 (folder / "slice_z01.ome.zarr") + "\"\n");
  const auto plan = run("explain", {folder / "steps.toml"});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_NE(plan->text.find("by itself"), std::string::npos) << plan->text;
  const auto done = run("run", {folder / "steps.toml"});
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(bytes(*done, "groups"), 4U);
  EXPECT_TRUE(std::filesystem::exists(folder / "slice_z01.ome.zarr/zarr.json"));
}

TEST(RunSteps, NameFileLineAndWhatThereIs) {
  const auto message = [](const std::string& text) {
    const auto made = oct::parse_steps(text, "s.toml");
    return made ? std::string("none") : std::string(made.error().message());
  };
  const std::string head = "input = \"a.ome.zarr\"\noutput = \"b.ome.zarr\"\n";
  const struct {
    std::string text;
    std::vector<std::string> says;
  } cases[] = {
      {"input = \n", {"s.toml:1"}},
      {head, {"s.toml:1", "no [[step]]"}},
      {head + "step = 3\n", {"s.toml:3", "[[step]]"}},
      {head + "inputs = \"c\"\n", {"s.toml:3", "inputs", "input, output"}},
      {head + "[[step]]\n", {"s.toml:3", "a step has a name"}},
      {head + "[[step]]\nname = \"resampel-mosaic\"\n",
       {"s.toml:4", "Did you mean resample-mosaic?", "Known: ", "resample-mosaic, fix-focal-curvature"}},
      {head + "[[step]]\nname = \"find-z-overlap\"\n", {"s.toml:4", "does not make one thing of one"}},
      {head + "[[step]]\nname = \"aip\"\n\nn_level = 3\n", {"s.toml:6", "Did you mean n_levels?", "Known: n_levels"}},
      {head + "[[step]]\nname = \"aip\"\nn_levels = -3\n", {"s.toml:3", "n_levels"}},
      {head + "[[step]]\nname = \"aip\"\nn_levels = [1]\n", {"s.toml:5", "n_levels is a number"}},
      {head + "[[step]]\nname = \"aip\"\nn_levels = 1\nn-levels = 2\n", {"s.toml:5", "twice"}},
      {head + "[[step]]\nname = \"stitch\"\n", {"s.toml:3", "transform is needed"}},
      {"[[step]]\nname = \"aip\"\n", {"s.toml:1", "input"}},
      {"input = \"a\"\n[[step]]\nname = \"aip\"\n", {"s.toml:1", "output"}},
      {"input = 3\n[[step]]\nname = \"aip\"\n", {"s.toml:1", "input is a path"}},
      {head + "[[step]]\nname = \"aip\"\noutput = \"c\"\n", {"s.toml:2", "another output"}},
  };
  for (const auto& [text, says] : cases)
    for (const std::string& part : says)
      EXPECT_NE(message(text).find(part), std::string::npos) << text << message(text);
  EXPECT_EQ(message(head + "[[step]]\nname = \"aip\"\n"), "none");
  // What is between two steps has to be written where one of them does not work tile by tile.
  const Folder folder;
  folder.write("s.toml", head + "[[step]]\nname = \"fix-illumination\"\n[[step]]\nname = \"crop-below-interface\"\n");
  const auto made = run("run", {folder / "s.toml"});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("s.toml:5: step crop-below-interface does not work tile by tile without tiles"),
            std::string::npos)
      << made.error().message();
}

TEST(Calls, WithoutADeclaredOptionAreMistakesOfTheCaller) {
  oct::Step step;
  step.what.name = "toy";
  step.run = [](const oct::StepCall& call) -> Result<oct::StepDone> {
    oct::StepDone done;
    done.metrics.add("n", call.number("size_um"), "", "");
    return done;
  };
  const auto made = oct::run_step(step, {"toy", {}, {}, {}, false}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::invalid_argument);
  EXPECT_NE(made.error().message().find("oct toy needs the option 'size_um'"), std::string::npos);
  EXPECT_EQ(oct::run_step(step, {"toy", {}, {{"size_um", "3"}}, {}, false}, {}).error().code(),
            ErrorCode::invalid_argument);
}
