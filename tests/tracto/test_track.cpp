// From files to a file: the same bytes however the work is cut.
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "penstock/array.hpp"
#include "penstock/copy.hpp"
#include "penstock/store.hpp"
#include "penstock/tracto.hpp"
#include "penstock/tractogram.hpp"
#include "tracto/file/nifti_map.hpp"
#include "tracto/phantom.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

class Track : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("penstock_track_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    testing::crossing_phantom().write(folder_ / "dwi");
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
  Result<TrackSummary> run(const std::string& out, const TrackOptions& how, std::uint64_t threads = 2) const {
    Options options;
    options.threads = threads;
    return track(at("dwi.nii"), at(out), how, {}, options);
  }
  [[nodiscard]] std::string member(const std::string& file, const std::string& name) const {
    const auto store = open_store(at(file), StoreMode::read).value();
    Bytes bytes;
    EXPECT_TRUE(store->get(name, bytes).value()) << name;
    return std::string(as_text(bytes));
  }
  void gzip(const std::string& from, const std::string& to) const {
    const std::string text = bytes_of(at(from));
    gzFile file = gzopen(at(to).c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  }
  TrackOptions quick() const {
    TrackOptions how;
    how.seeds = 300;
    how.sphere = 181;
    how.min_length_mm = 3;
    return how;
  }
  fs::path folder_;
};

TEST_F(Track, TheBytesDependOnNeitherChunksNorThreads) {
  const auto whole = run("a.trx", quick());
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_GT(whole->streamlines, 200u);
  const std::string want = bytes_of(at("a.trx"));
  for (const std::uint64_t chunk : {1u, 7u, 64u}) {
    TrackOptions how = quick();
    how.chunk_seeds = chunk;
    how.force = true;
    ASSERT_TRUE(run("b.trx", how, chunk == 1 ? 1 : 16));
    EXPECT_TRUE(bytes_of(at("b.trx")) == want) << chunk;
  }
  TrackOptions other = quick();
  other.random_seed = 1;
  ASSERT_TRUE(run("c.trx", other));
  EXPECT_FALSE(bytes_of(at("c.trx")) == want);
}

TEST_F(Track, ASeedAloneGivesWhatItGaveAmongOthers) {
  ASSERT_TRUE(run("all.trx", quick()));
  TrackOptions one = quick();
  one.first_seed = 123;
  one.seeds = 1;
  const auto alone = run("one.trx", one);
  ASSERT_TRUE(alone) << alone.error().message();
  ASSERT_GT(alone->streamlines, 0u);
  const std::string all = member("all.trx", "positions.3.float32"), part = member("one.trx", "positions.3.float32");
  EXPECT_NE(all.find(part), std::string::npos);
}

TEST_F(Track, StreamlinesFollowTheBundles) {
  const auto summary = run("a.trx", quick());
  ASSERT_TRUE(summary);
  const std::string text = member("a.trx", "positions.3.float32");
  std::size_t outside = 0;
  for (std::size_t i = 0; i + 12 <= text.size(); i += 12) {
    float p[3];
    std::memcpy(p, text.data() + i, 12);
    const double x = (p[0] + 10) / 2, y = (p[1] - 5) / 2;
    const bool in = (y > 3 && y < 8) || (x > 3 && x < 8);
    outside += in ? 0 : 1;
  }
  EXPECT_EQ(outside, 0u);
  EXPECT_GT(summary->mean_length_mm, 14);
}

TEST_F(Track, AGzipFileIsTheSame) {
  ASSERT_TRUE(run("a.trx", quick()));
  gzip("dwi.nii", "dwi.nii.gz");
  const auto packed = track(at("dwi.nii.gz"), at("b.trx"), quick(), {}, {});
  ASSERT_TRUE(packed) << packed.error().message();
  EXPECT_TRUE(bytes_of(at("a.trx")) == bytes_of(at("b.trx")));
}

TEST_F(Track, ACutGzipFileIsRefusedAndLeavesNothing) {
  gzip("dwi.nii", "dwi.nii.gz");
  fs::resize_file(at("dwi.nii.gz"), fs::file_size(at("dwi.nii.gz")) / 2);
  const auto cut = track(at("dwi.nii.gz"), at("b.trx"), quick(), {}, {});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code(), ErrorCode::corrupt_data);
  EXPECT_NE(cut.error().message().find("dwi.nii.gz"), std::string::npos) << cut.error().message();
  EXPECT_FALSE(fs::exists(at("b.trx")));
}

TEST_F(Track, NothingIsLeftWhereAGradientFileIsMissing) {
  fs::remove(at("dwi.bvec"));
  const auto result = run("b.trx", quick());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::not_found);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 2u);  // dwi.nii, dwi.bval
}

TEST_F(Track, AFileIsReplacedOnlyWhenAsked) {
  std::ofstream(at("a.trx")) << "mine";
  const auto refused = run("a.trx", quick());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::already_exists);
  EXPECT_EQ(bytes_of(at("a.trx")), "mine");
  TrackOptions how = quick();
  how.force = true;
  EXPECT_TRUE(run("a.trx", how));
}

TEST_F(Track, OptionsOutOfRangeAreNamed) {
  const auto says = [&](const TrackOptions& how, const char* what) {
    const auto result = run("a.trx", how);
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument) << what;
    EXPECT_NE(result.error().message().find(what), std::string::npos) << result.error().message();
    EXPECT_FALSE(fs::exists(at("a.trx")));
  };
  const auto with = [&](auto TrackOptions::* option, auto value, const char* what) {
    TrackOptions how = quick();
    how.*option = value;
    says(how, what);
  };
  with(&TrackOptions::sh_order, 7, "--sh-order 7");
  with(&TrackOptions::sh_order, 14, "--sh-order 14");
  with(&TrackOptions::sphere, 15, "--sphere 15");
  with(&TrackOptions::sphere, 4000000000U, "--sphere 4");
  with(&TrackOptions::max_peaks, 0, "--peaks 0");
  with(&TrackOptions::substeps, 0, "--substeps 0");
  with(&TrackOptions::probe_quality, 1, "--probe-quality 1");
  with(&TrackOptions::probe_count, 0, "--probe-count 0");
  with(&TrackOptions::seeds_per_voxel, 0, "--seeds-per-voxel 0");
  with(&TrackOptions::seed_grid, 101, "--seed-grid 101");
  with(&TrackOptions::chunk_seeds, 0, "--chunk-seeds 0");
  with(&TrackOptions::seeds, ~std::uint64_t{0}, "--seeds");
  with(&TrackOptions::first_seed, ~std::uint64_t{0}, "--first-seed");
  with(&TrackOptions::max_angle_deg, 91, "--max-angle-deg 91");
  with(&TrackOptions::max_length_mm, 1, "--max-length-mm 1");
  for (const double bad : {std::nan(""), -1.0, 1e300, HUGE_VAL}) {
    with(&TrackOptions::b0_threshold, bad, "--b0-threshold");
    with(&TrackOptions::response_fa, bad, "--response-fa");
    with(&TrackOptions::relative_peak, bad, "--relative-peak");
    with(&TrackOptions::separation_deg, bad, "--separation-deg");
    with(&TrackOptions::stop_below, bad, "--stop-below");
    with(&TrackOptions::step_mm, bad, "--step-mm");
    with(&TrackOptions::step_voxels, bad, "--step-voxels");
    with(&TrackOptions::max_angle_deg, bad, "--max-angle-deg");
    with(&TrackOptions::pmf_threshold, bad, "--pmf-threshold");
    with(&TrackOptions::smooth, bad, "--smooth");
    with(&TrackOptions::min_signal, bad, "--min-signal");
    with(&TrackOptions::min_radius_mm, bad, "--min-radius-mm");
    with(&TrackOptions::probe_length_mm, bad, "--probe-length-mm");
    with(&TrackOptions::probe_radius_mm, bad, "--probe-radius-mm");
    with(&TrackOptions::min_length_mm, bad, "--min-length-mm");
    with(&TrackOptions::max_length_mm, bad, "--max-length-mm");
  }
}

TEST_F(Track, CancelledItKeepsWhatWasTrackedWhereAsked) {
  TrackOptions how = quick();
  how.seeds = 200'000;  // more than are tracked before the word of the first has gone round
  how.chunk_seeds = 20;
  for (const bool keep : {true, false}) {
    how.keep_partial = keep;
    Options options;
    options.progress = [&](const Progress& state) {
      EXPECT_EQ(state.total, how.seeds);
      if (state.done >= 60) options.cancel.cancel();
    };
    const std::string out = at(keep ? "kept.trx" : "none.trx");
    const auto result = track(at("dwi.nii"), out, how, {}, options);
    ASSERT_EQ(result.has_value(), keep) << (result ? "" : result.error().message());
    EXPECT_EQ(fs::exists(out), keep);
    if (!keep) continue;
    EXPECT_TRUE(result->cancelled);
    EXPECT_GE(result->seeds, 60u);
    EXPECT_LT(result->seeds, how.seeds);
    const auto info = tractogram_info(out, {});
    ASSERT_TRUE(info) << info.error().message();
    EXPECT_EQ(info->streamlines, result->streamlines);
  }
}

TEST_F(Track, MemoryHasWhatTheFileHas) {
  ASSERT_TRUE(run("a.trx", quick()));
  TrackOptions how = quick();
  how.chunk_seeds = 64;
  auto tracking = Tracking::begin(at("dwi.nii"), how, {{}, {}}, {});
  ASSERT_TRUE(tracking) << tracking.error().message();
  const auto first = tracking->next({});
  ASSERT_TRUE(first && *first);
  const auto rest = tracking->rest({});
  ASSERT_TRUE(rest);
  EXPECT_FALSE(*tracking->next({}));
  const std::string all = member("a.trx", "positions.3.float32");
  const std::size_t head = (*first)->points.size() * 12;
  ASSERT_EQ(head + rest->points.size() * 12, all.size());
  EXPECT_EQ(std::memcmp((*first)->points.data(), all.data(), head), 0);
  EXPECT_EQ(std::memcmp(rest->points.data(), all.data() + head, all.size() - head), 0);
  EXPECT_EQ(tracking->summary().seeds, 300u);
}

TEST_F(Track, MapsThatWereFittedAreTracked) {
  Options options;
  const auto fitted = fit_dwi(at("dwi.nii"), at("maps"), DwiModel::csd, {}, {}, options);
  ASSERT_TRUE(fitted) << fitted.error().message();
  const auto direct = run("a.trx", quick());
  const auto again = track(at("maps"), at("b.trx"), quick(), {}, {});
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_NEAR(static_cast<double>(again->streamlines), static_cast<double>(direct->streamlines), 10);
  TrackOptions boot = quick();
  boot.method = TrackMethod::boot;
  const auto refused = track(at("maps"), at("c.trx"), boot, {}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument);
}

TEST_F(Track, PeaksAreTrackedWhereThereAreNoCoefficients) {
  TrackOptions how = quick();
  how.method = TrackMethod::det;
  how.max_angle_deg = 30;
  for (const DwiModel model : {DwiModel::dti, DwiModel::csd}) {
    const std::string maps = at("maps" + std::string(dwi_model_name(model)));
    ASSERT_TRUE(fit_dwi(at("dwi.nii"), maps, model, how, {}, {}));
    fs::remove(fs::path(maps) / "sh.nii.gz");
    how.force = true;
    const auto tracked = track(maps, at("peaks.trx"), how, {}, {});
    ASSERT_TRUE(tracked) << tracked.error().message();
    EXPECT_EQ(tracked->report.stages.at(1).stage, "peaks");
    EXPECT_GT(tracked->streamlines, 200u);
    // Bundles lie along x and y: nothing but the voxels' directions takes a streamline from its plane.
    const auto info = tractogram_info(at("peaks.trx"), {});
    ASSERT_TRUE(info);
    EXPECT_GT(info->mean_length_mm, 15);
  }
  TrackOptions boot = how;
  boot.method = TrackMethod::boot;
  EXPECT_FALSE(track(at("mapsdti"), at("c.trx"), boot, {}, {}));
}

// Vectors are in the axes of the voxels: what turns or mirrors those takes the streamlines with it.
TEST_F(Track, ObliqueAndLeftHandedVolumesCarryTheirStreamlinesAlong) {
  const std::array<double, 12> straight = {2, 0, 0, -10, 0, 2, 0, 5, 0, 0, 2, 1};
  const double c = std::cos(0.4), s = std::sin(0.4);
  const std::array<double, 12> oblique = {-2 * c, 2 * s, 0, 7, 2 * s, 2 * c, 0, -3, 0, 0, 2, 11};  // left-handed
  std::vector<float> points[2], mm[2];
  for (const int turned : {0, 1}) {
    testing::Phantom phantom = testing::crossing_phantom();
    phantom.world_from_voxel = turned != 0 ? oblique : straight;
    phantom.write(folder_ / "dwi");
    TrackOptions how = quick();
    how.force = true;
    const auto done = run("a.trx", how);
    ASSERT_TRUE(done) << done.error().message();
    for (const auto& [to, name] :
         {std::pair{&points[turned], "positions.3.float32"}, {&mm[turned], "dps/length_mm.float32"}}) {
      const std::string text = member("a.trx", name);
      to->resize(text.size() / 4);
      std::memcpy(to->data(), text.data(), text.size());
    }
  }
  ASSERT_EQ(points[0].size(), points[1].size());
  ASSERT_GT(points[0].size(), 3000u);
  for (std::size_t i = 0; i < points[0].size(); i += 3) {
    std::array<double, 3> voxel = {};
    for (std::size_t d = 0; d < 3; ++d) voxel[d] = (static_cast<double>(points[0][i + d]) - straight[4 * d + 3]) / 2;
    for (std::size_t d = 0; d < 3; ++d) {
      const double* row = oblique.data() + 4 * d;
      ASSERT_NEAR(points[1][i + d], row[0] * voxel[0] + row[1] * voxel[1] + row[2] * voxel[2] + row[3], 1e-3);
    }
  }
  for (std::size_t i = 0; i < mm[0].size(); ++i) ASSERT_NEAR(mm[0][i], mm[1][i], 1e-3);
}

TEST_F(Track, AZarrArrayStandsInTheWorldAsItsAttributeSays) {
  testing::Phantom phantom = testing::crossing_phantom();
  phantom.world_from_voxel = {-1.5, 0.5, 0, 7, 0.5, 1.5, 0.25, -3, 0, -0.25, 2, 11};  // oblique, left-handed
  phantom.write(folder_ / "oblique");
  const auto zarr = open_store(at("oblique.zarr"), StoreMode::create).value();
  const Array nifti = std::get<Array>(open(at("oblique.nii")).value());
  ASSERT_TRUE(copy(nifti, zarr, "", {}, Array::IfExists::fail, Resume::no, {}));
  Array array = Array::open(zarr, "").value();
  TrackOptions how = quick();
  how.force = true;
  how.bval = at("oblique.bval");
  how.bvec = at("oblique.bvec");
  const auto tracked = [&](const char* dwi) {
    const auto done = track(at(dwi), at("out.trx"), how, {}, {});
    EXPECT_TRUE(done) << done.error().message();
    return bytes_of(at("out.trx"));
  };
  ASSERT_TRUE(array.set_attributes("{}"));
  EXPECT_FALSE(tracked("oblique.zarr") == tracked("oblique.nii"));
  const std::string rows = "[-1.5,0.5,0,7],[0.5,1.5,0.25,-3],[0,-0.25,2,11]";
  for (const std::string end : {"", ",[0,0,0,1]"}) {
    ASSERT_TRUE(array.set_attributes("{\"world_from_voxel\":[" + rows + end + "]}"));
    for (const GradientFrame frame : {GradientFrame::voxel, GradientFrame::fsl, GradientFrame::world}) {
      how.gradients = frame;
      EXPECT_TRUE(tracked("oblique.zarr") == tracked("oblique.nii")) << static_cast<int>(frame) << end;
    }
  }
  for (const std::string& bad :
       std::vector<std::string>{"7", "[" + rows + ",[0,0,0,2]]", "[[1,0,0,0],[0,1,0,0]]", "[[1,0,0],[0,1,0],[0,0,1]]",
                                R"([["a",0,0,0],[0,1,0,0],[0,0,1,0]])", "[[1,0,0,0],[1,0,0,0],[0,0,1,0]]"}) {
    ASSERT_TRUE(array.set_attributes("{\"world_from_voxel\":" + bad + "}"));
    const auto refused = track(at("oblique.zarr"), at("out.trx"), how, {}, {});
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code(), ErrorCode::invalid_metadata) << bad;
    EXPECT_NE(refused.error().message().find("oblique.zarr"), std::string::npos) << refused.error().message();
  }
}

TEST_F(Track, AResponseThatIsGivenIsTaken) {
  TrackOptions how = quick();
  how.response = {0.0017, 0.0003, 1000};
  const auto given = run("a.trx", how);
  ASSERT_TRUE(given) << given.error().message();
  EXPECT_EQ(given->response_evals[1], 0.0003);
  EXPECT_EQ(given->response_voxels, 0u);
  how.response = {0.0003, 0.0017, 1000};
  const auto refused = run("b.trx", how);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("--response"), std::string::npos) << refused.error().message();
  for (const char* wrong : {"", "1", "1,2", "1,2,3,4", "a,b,c", "1,2,3 "}) EXPECT_FALSE(parse_response(wrong)) << wrong;
  EXPECT_EQ((**parse_response("0.0017,0.0003,1000"))[2], 1000);
  EXPECT_FALSE(*parse_response("auto"));
}

TEST_F(Track, SeedsOfGridsAndFilesLieWhereTheyAreSaid) {
  TrackOptions how = quick();
  how.seeds = 0;
  how.seed_grid = 2;
  how.min_length_mm = 0;
  const auto grid = run("grid.trx", how);
  ASSERT_TRUE(grid) << grid.error().message();
  EXPECT_EQ(grid->seeds, 8 * grid->fitted_voxels);
  how.seed_grid = 0;
  std::ofstream(at("seeds.txt")) << "1 17 6\n  3.5 17 6\n1000 0 0\n";
  how.seeds_file = at("seeds.txt");
  how.method = TrackMethod::det;
  const auto listed = run("file.trx", how);
  ASSERT_TRUE(listed) << listed.error().message();
  EXPECT_EQ(listed->seeds, 3u);
  const std::string seeds = member("file.trx", "dps/seed.3.float32");
  ASSERT_GE(seeds.size(), 24u);  // the third lies outside
  float first[3];
  std::memcpy(first, seeds.data(), 12);
  EXPECT_NEAR(first[0], 1, 1e-5);
  EXPECT_NEAR(first[1], 17, 1e-5);
  std::ofstream(at("seeds.txt")) << "1 17\n";
  const auto bad = run("bad.trx", how);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message().find("seeds.txt: seed 0"), std::string::npos) << bad.error().message();
}

TEST_F(Track, MapsMustBeOfTheSameGridAndHoldSomething) {
  const auto store = open_store(folder_.string(), StoreMode::read_write).value();
  const Affine here{{2, 0, 0, -10, 0, 2, 0, 5, 0, 0, 2, 1}};
  Affine there = here;
  there.rows[3] += 1;
  const std::vector<float> ones(12 * 12 * 6, 1), none(12 * 12 * 6, 0), few(12 * 12 * 5, 1);
  ASSERT_TRUE(tracto::write_map(*store, "good", {12, 12, 6}, 1, here, ones));
  ASSERT_TRUE(tracto::write_map(*store, "empty", {12, 12, 6}, 1, here, none));
  ASSERT_TRUE(tracto::write_map(*store, "shape", {12, 12, 5}, 1, here, few));
  ASSERT_TRUE(tracto::write_map(*store, "place", {12, 12, 6}, 1, there, ones));
  const auto with = [&](std::string TrackOptions::* field, const std::string& name) {
    TrackOptions how = quick();
    how.*field = at(name + ".nii.gz");
    how.force = true;
    return run("a.trx", how);
  };
  for (auto field : {&TrackOptions::mask, &TrackOptions::seed_image, &TrackOptions::stop}) {
    EXPECT_TRUE(with(field, "good"));
    for (const auto& [name, says] :
         {std::pair{"empty", "empty"}, {"shape", "12 x 12 x 5"}, {"place", "lies elsewhere"}}) {
      const auto bad = with(field, name);
      ASSERT_FALSE(bad) << name;
      EXPECT_EQ(bad.error().code(), ErrorCode::invalid_argument) << bad.error().message();
      EXPECT_NE(bad.error().message().find(says), std::string::npos) << bad.error().message();
      EXPECT_NE(bad.error().message().find(name), std::string::npos) << bad.error().message();
    }
  }
}

TEST_F(Track, CancelledItLeavesNothing) {
  Options options;
  options.cancel.cancel();
  const auto result = track(at("dwi.nii"), at("a.trx"), quick(), {}, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::cancelled);
  EXPECT_FALSE(fs::exists(at("a.trx")));
}

}  // namespace
}  // namespace penstock
