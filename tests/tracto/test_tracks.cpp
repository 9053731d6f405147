// Files of streamlines: what is written is read again at its place, what lies is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>
#include <sstream>

#include "penstock/tractogram.hpp"
#include "tracto/file/reader.hpp"
#include "tracto/phantom.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using tracto::ImageGrid;
using Points = std::vector<std::array<float, 3>>;

/// Oblique, left-handed, not of cubes.
ImageGrid oblique() {
  ImageGrid grid;
  grid.dims = {10, 12, 14};
  grid.world_from_voxel.rows = {-1.9, 0.3, 0.1, 12, 0.35, 2.2, -0.4, -7, 0.12, 0.5, 2.9, 3};
  return grid;
}

class Tracks : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("penstock_tracks_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }

  /// Two streamlines, of 3 points and of 2, in two batches.
  [[nodiscard]] Points write(const std::string& name, const tracto::PerStreamline& says = {true, true, true},
                             const ImageGrid& grid = oblique()) const {
    const Points points = {{1, 2, 3}, {2.5F, 2, 3}, {3, 2.25F, 4}, {-5, 6, 7}, {-5.5F, 6, 8}};
    auto file = tracto::begin_tractogram(at(name), grid, says, true);
    EXPECT_TRUE(file) << file.error().message();
    const std::uint32_t lengths[] = {3, 2};
    const std::array<float, 3> seeds[] = {{2.5F, 2, 3}, {-5, 6, 7}};
    const std::uint64_t numbers[] = {4, 11};
    const float mm[] = {2, 1};
    const std::array<std::uint8_t, 2> reasons[] = {{1, 2}, {0, 3}};
    for (std::size_t i = 0; i < 2; ++i) {
      tracto::StreamlineBatch batch;
      batch.lengths = std::span(lengths).subspan(i, 1);
      batch.lengths_mm = std::span(mm).subspan(i, 1);
      if (says.seed_points) batch.seed_points = std::span(seeds).subspan(i, 1);
      if (says.seed_numbers) batch.seed_numbers = std::span(numbers).subspan(i, 1);
      if (says.reasons) batch.reasons = std::span(reasons).subspan(i, 1);
      EXPECT_TRUE((*file)->append(batch, std::span(points).subspan(i * 3, lengths[i])));
    }
    EXPECT_TRUE((*file)->finish([] { return Status(); }));
    return points;
  }
  [[nodiscard]] tracto::StreamlineBlock read(const std::string& name) const {
    auto reader = tracto::open_tractogram(at(name));
    EXPECT_TRUE(reader) << reader.error().message();
    tracto::StreamlineBlock block, end;
    const Status status = (*reader)->next(block);
    EXPECT_TRUE(status) << status.error().message();
    EXPECT_TRUE((*reader)->next(end));
    EXPECT_TRUE(end.lengths.empty());
    return block;
  }
  [[nodiscard]] std::string bytes(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(at(name), std::ios::binary).rdbuf();
    return text.str();
  }
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
  }
  void expect_refused(const std::string& name, ErrorCode code, const std::string& says) const {
    const auto info = tractogram_info(at(name), {});
    ASSERT_FALSE(info) << name;
    EXPECT_EQ(info.error().code(), code) << info.error().message();
    EXPECT_NE(info.error().message().find(says), std::string::npos) << info.error().message();
    EXPECT_NE(info.error().message().find(name), std::string::npos) << info.error().message();
  }
  fs::path folder_;
};

void expect_near(const Points& got, const Points& want, double within) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    for (std::size_t d = 0; d < 3; ++d) EXPECT_NEAR(got[i][d], want[i][d], within) << i;
}

// Streamlines of no points, at the begin, inside and at the end of batches, stay.
TEST_F(Tracks, PointsOfBatchesAreWrittenBesideEachOther) {
  const Points points = {{1, 2, 3}, {2, 2, 3}, {3, 2, 4}, {5, 6, 7}, {5, 6, 8}, {9, 9, 9}};
  const std::vector<std::uint32_t> lengths[] = {{0, 2, 0, 1}, {2, 0}, {1}};
  const float mm[] = {0, 1, 0, 0};
  const std::uint64_t numbers[] = {0, 1, 2, 3};
  for (const char* ending : {".trx", ".trk", ".tck", "_folder.trx/"}) {
    const auto begun = [&](const std::string& name) {
      return tracto::begin_tractogram(at(name), oblique(), {false, true, false}, true).value();
    };
    const auto batch = [&](std::size_t i) {
      tracto::StreamlineBatch out;
      out.lengths = lengths[i];
      out.lengths_mm = std::span(mm).first(lengths[i].size());
      out.seed_numbers = std::span(numbers).first(lengths[i].size());
      return out;
    };
    const std::size_t first[] = {0, 3, 5, 6};
    const auto of = [&](std::size_t i) { return std::span(points).subspan(first[i], first[i + 1] - first[i]); };
    const std::string in_turn = std::string("a") + ending, beside = std::string("b") + ending;
    auto file = begun(in_turn);
    for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(file->append(batch(i), of(i)));
    ASSERT_TRUE(file->finish([] { return Status(); })) << ending;
    file = begun(beside);
    std::vector<std::unique_ptr<tracto::PointSink>> sinks;
    for (std::size_t i = 0; i < 3; ++i) sinks.push_back(file->begin(batch(i)).value());
    for (const std::size_t i : {2u, 0u, 1u}) {
      for (std::size_t p = 0; p < of(i).size(); ++p)
        ASSERT_TRUE(sinks[i]->write(std::as_bytes(of(i).subspan(p, 1)), PointType::float32));
      ASSERT_TRUE(sinks[i]->end());
    }
    ASSERT_TRUE(file->finish([] { return Status(); })) << ending;
    const bool folder = std::string_view(ending).ends_with('/');
    const std::string inside = folder ? "positions.3.float32" : "";
    EXPECT_TRUE(bytes(in_turn + inside) == bytes(beside + inside)) << ending;
    expect_near(read(beside).points, points, 1e-4);
  }
}

TEST_F(Tracks, ABatchWithoutItsPointsIsNotTakenForWhole) {
  auto file = tracto::begin_tractogram(at("a.trx"), oblique(), {}, true).value();
  const std::uint32_t lengths[] = {2};
  const float mm[] = {1};
  tracto::StreamlineBatch batch;
  batch.lengths = lengths;
  batch.lengths_mm = mm;
  ASSERT_TRUE(file->begin(batch));
  EXPECT_FALSE(file->finish([] { return Status(); }));
  file.reset();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Tracks, AreReadWhereTheyWereWritten) {
  for (const char* name : {"a.trx", "a.trk", "a.tck"}) {
    const Points want = write(name);
    const tracto::StreamlineBlock got = read(name);
    expect_near(got.points, want, 1e-4);
    EXPECT_EQ(got.lengths, (std::vector<std::uint32_t>{3, 2}));
  }
  const tracto::StreamlineBlock trx = read("a.trx");
  EXPECT_EQ(trx.seed_numbers, (std::vector<std::uint64_t>{4, 11}));
  EXPECT_EQ(trx.reasons[1][1], 3);
  EXPECT_EQ(trx.seed_points[0][0], 2.5F);
}

TEST_F(Tracks, AFolderHasWhatAZipHas) {
  const Points want = write("a.trx");
  EXPECT_EQ(write("b.trx/"), want);
  ASSERT_TRUE(fs::is_directory(at("b.trx")));
  expect_near(read("b.trx").points, want, 0);
  EXPECT_EQ(read("b.trx/").seed_numbers, read("a.trx").seed_numbers);
  ASSERT_TRUE(convert_tractogram(at("b.trx"), at("c.trx"), {}, {}));
  EXPECT_EQ(bytes("c.trx").size(), bytes("a.trx").size());
  const auto there = convert_tractogram(at("a.trx"), at("b.trx/"), {}, {});
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().code(), ErrorCode::already_exists);
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++entries;
  EXPECT_EQ(entries, 3u);
}

TEST_F(Tracks, InfoCountsAndMeasures) {
  static_cast<void>(write("a.trx"));
  const auto info = tractogram_info(at("a.trx"), {});
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(info->streamlines, 2u);
  EXPECT_EQ(info->points, 5u);
  EXPECT_NEAR(info->max_length_mm, 1.5 + std::sqrt(0.25 + 0.0625 + 1), 1e-6);
  EXPECT_NEAR(info->min_length_mm, std::sqrt(0.25 + 1), 1e-6);
  EXPECT_EQ(info->box_first[0], -5.5F);
  EXPECT_EQ(info->box_last[2], 8);
  EXPECT_EQ(*info->dims, (std::array<std::uint64_t, 3>{10, 12, 14}));
}

TEST_F(Tracks, ConversionsKeepPlacesAndSay) {
  testing::Phantom reference;
  reference.dims = {10, 12, 14};
  reference.world_from_voxel = oblique().world_from_voxel.rows;
  reference.directions = 2;
  reference.fibres = [](int, int, int) { return std::vector<testing::Point3>(); };
  reference.write(folder_ / "image");
  const Points want = write("a.trx");
  TractogramOptions how;
  how.reference = at("image.nii");
  for (const auto& [from, to] :
       {std::pair{"a.trx", "b.trk"}, {"b.trk", "c.tck"}, {"c.tck", "d.trx"}, {"d.trx", "e.trx"}}) {
    const auto done = convert_tractogram(at(from), at(to), how, {});
    ASSERT_TRUE(done) << done.error().message();
    expect_near(read(to).points, want, 1e-4);
  }
  EXPECT_TRUE(read("d.trx").seed_numbers.empty());  // a TCK does not say them
  ASSERT_TRUE(convert_tractogram(at("a.trx"), at("f.trx"), {}, {}));
  EXPECT_EQ(bytes("a.trx").size(), bytes("f.trx").size());
  const auto missing = convert_tractogram(at("c.tck"), at("g.trx"), {}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(fs::exists(at("g.trx")));
  const auto there = convert_tractogram(at("a.trx"), at("b.trk"), {}, {});
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().code(), ErrorCode::already_exists);
}

TEST_F(Tracks, DensityCountsEachStreamlineOnce) {
  ImageGrid grid;
  grid.dims = {4, 3, 12};
  grid.world_from_voxel.rows = {2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0};
  static_cast<void>(write("a.trx", {}, grid));
  const auto d = tractogram_density(at("a.trx"), {}, {});
  ASSERT_TRUE(d) << d.error().message();
  EXPECT_EQ(std::accumulate(d->counts.begin(), d->counts.end(), 0.0F), 2);  // 1,1,3 twice; 2,1,4; two outside
  EXPECT_EQ(d->counts[(3 * 3 + 1) * 4 + 1], 1);
  EXPECT_EQ(d->counts[(4 * 3 + 1) * 4 + 2], 1);
  EXPECT_EQ(d->outside, 2u);
}

TEST_F(Tracks, DensityIsTheSameOfEveryFormat) {
  ImageGrid grid;  // left-handed, not of cubes
  grid.dims = {10, 12, 14};
  grid.world_from_voxel.rows = {-2, 0, 0, 6.3, 0, 2.5, 0, -3, 0, 0, 1.5, -2};
  testing::Phantom reference;
  reference.dims = {10, 12, 14};
  reference.world_from_voxel = grid.world_from_voxel.rows;
  reference.directions = 2;
  reference.fibres = [](int, int, int) { return std::vector<testing::Point3>(); };
  reference.write(folder_ / "image");
  TractogramOptions of_image;
  of_image.reference = at("image.nii");
  static_cast<void>(write("a.trx", {true, true, true}, grid));
  const auto want = tractogram_density(at("a.trx"), {}, {});
  ASSERT_TRUE(want) << want.error().message();
  EXPECT_EQ(std::accumulate(want->counts.begin(), want->counts.end(), 0.0F), 5);  // every point in a voxel of its own
  for (const char* name : {"a.trk", "a.tck", "b.trx/"}) {
    static_cast<void>(write(name, {true, true, true}, grid));
    const bool placed = std::string_view(name) != "a.tck";
    const auto got = tractogram_density(at(name), placed ? TractogramOptions() : of_image, {});
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->counts, want->counts) << name;
    EXPECT_EQ(got->outside, want->outside) << name;
    EXPECT_EQ(got->dims, want->dims) << name;
  }
  const auto nowhere = tractogram_density(at("a.tck"), {}, {});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code(), ErrorCode::invalid_argument);
  put("a.tck", bytes("a.tck").substr(0, 100));
  ASSERT_FALSE(write_tractogram_density(at("a.tck"), at("d.nii.gz"), of_image, {}));
  ASSERT_FALSE(convert_tractogram(at("a.tck"), at("c.trk"), of_image, {}));
  EXPECT_FALSE(fs::exists(at("d.nii.gz")));
  EXPECT_FALSE(fs::exists(at("c.trk")));
  EXPECT_FALSE(fs::exists(at(".c.trk.penstock.tmp")));
}

TEST_F(Tracks, OtherNumbersAndOrdersAreRead) {
  // TRX with float16, TCK of doubles in the other byte order, a folder.
  fs::create_directories(folder_ / "h.trx");
  put("h.trx/header.json",
      R"({"VOXEL_TO_RASMM": [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]], "DIMENSIONS": [5,5,5], "NB_STREAMLINES": 1, "NB_VERTICES": 2})");
  const _Float16 half[] = {1, 2, 3, 1.5, 2, 3};
  put("h.trx/positions.3.float16", std::string(reinterpret_cast<const char*>(half), sizeof half));
  const std::uint32_t offsets[] = {0, 2};
  put("h.trx/offsets.uint32", std::string(reinterpret_cast<const char*>(offsets), sizeof offsets));
  expect_near(read("h.trx").points, {{1, 2, 3}, {1.5F, 2, 3}}, 0);
  std::string text = "mrtrix tracks\ndatatype: Float64BE\nfile: . 64\nEND\n";
  text.resize(64);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kEnd = std::numeric_limits<double>::infinity();
  for (const double v : {1.0, 2.0, 3.0, kNan, kNan, kNan, kEnd, kEnd, kEnd}) {
    const std::uint64_t bits = __builtin_bswap64(std::bit_cast<std::uint64_t>(v));
    text.append(reinterpret_cast<const char*>(&bits), 8);
  }
  put("d.tck", text);
  expect_near(read("d.tck").points, {{1, 2, 3}}, 0);
}

TEST_F(Tracks, AxesOfATrkAreFollowed) {
  const Points want = write("a.trk");
  const std::string same = bytes("a.trk");
  // The image's axes are named otherwise, and points, sizes and extents with them: first and third exchanged, second
  // turned.
  std::string other = same;
  const auto number = [&](std::size_t at) {
    float f = 0;
    std::memcpy(&f, other.data() + at, 4);
    return f;
  };
  const float size[3] = {number(12), number(16), number(20)};
  const auto swap_bytes = [&](std::size_t a, std::size_t b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) std::swap(other[a + i], other[b + i]);
  };
  swap_bytes(6, 10, 2);
  swap_bytes(12, 20, 4);
  swap_bytes(948, 950, 1);
  other[949] = other[949] == 'A' ? 'P' : 'A';
  std::size_t at = 1000;
  for (const std::size_t n : {3u, 2u}) {
    at += 4;
    for (std::size_t i = 0; i < n; ++i, at += 12) {
      swap_bytes(at, at + 8, 4);
      const float turned = 12 * size[1] - number(at + 4);
      std::memcpy(other.data() + at + 4, &turned, 4);
    }
    at += 8;
  }
  put("b.trk", other);
  expect_near(read("b.trk").points, want, 1e-4);
}

TEST_F(Tracks, LyingTrxAreRefused) {
  const auto with = [&](const std::string& name, const std::function<void(const std::string&)>& change) {
    fs::create_directories(folder_ / name);
    put(name + "/header.json",
        R"({"VOXEL_TO_RASMM": [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]], "DIMENSIONS": [5,5,5], "NB_STREAMLINES": 2, "NB_VERTICES": 3})");
    put(name + "/positions.3.float32", std::string(36, '\0'));
    const std::uint64_t offsets[] = {0, 1, 3};
    put(name + "/offsets.uint64", std::string(reinterpret_cast<const char*>(offsets), sizeof offsets));
    change(name);
  };
  const auto offsets = [&](const std::string& name, std::vector<std::uint64_t> values) {
    put(name + "/offsets.uint64", std::string(reinterpret_cast<const char*>(values.data()), 8 * values.size()));
  };
  const auto header = [&](const std::string& name, const std::string& from, const std::string& to) {
    std::string text = bytes(name + "/header.json");
    text.replace(text.find(from), from.size(), to);
    put(name + "/header.json", text);
  };
  with("good.trx", [](const auto&) {});
  EXPECT_TRUE(tractogram_info(at("good.trx"), {}));
  with("fall.trx", [&](const auto& n) { offsets(n, {0, 3, 1}); });
  expect_refused("fall.trx", ErrorCode::corrupt_data, "offsets");
  with("beyond.trx", [&](const auto& n) { offsets(n, {0, 1, 4}); });
  expect_refused("beyond.trx", ErrorCode::corrupt_data, "offsets");
  with("short.trx", [&](const auto& n) { offsets(n, {0, 1, 2}); });
  expect_refused("short.trx", ErrorCode::corrupt_data, "end at point 2 of 3");
  with("few.trx", [&](const auto& n) { offsets(n, {0}); });
  expect_refused("few.trx", ErrorCode::corrupt_data, "8 bytes for 2 streamlines");
  with("many.trx", [&](const auto& n) { header(n, "\"NB_VERTICES\": 3", "\"NB_VERTICES\": 1000000000000"); });
  expect_refused("many.trx", ErrorCode::corrupt_data, "36 bytes");
  with("lines.trx", [&](const auto& n) { header(n, "\"NB_STREAMLINES\": 2", "\"NB_STREAMLINES\": 1000000000000"); });
  expect_refused("lines.trx", ErrorCode::corrupt_data, "1000000000000 streamlines");
  with("huge.trx", [&](const auto& n) { header(n, "\"NB_VERTICES\": 3", "\"NB_VERTICES\": 1e30"); });
  expect_refused("huge.trx", ErrorCode::invalid_metadata, "NB_VERTICES");
  with("flat.trx", [&](const auto& n) { header(n, "[0,1,0,0]", "[0,0,0,0]"); });
  expect_refused("flat.trx", ErrorCode::invalid_metadata, "no inverse");
  with("nan.trx", [&](const auto& n) { header(n, "[0,1,0,0]", "[0,NaN,0,0]"); });
  expect_refused("nan.trx", ErrorCode::invalid_metadata, "no inverse");
  with("nothing.trx", [&](const auto& n) { fs::remove(folder_ / n / "positions.3.float32"); });
  expect_refused("nothing.trx", ErrorCode::invalid_metadata, "positions");
  with("headless.trx", [&](const auto& n) { fs::remove(folder_ / n / "header.json"); });
  expect_refused("headless.trx", ErrorCode::invalid_metadata, "header.json is missing");
}

TEST_F(Tracks, CutFilesAreRefused) {
  for (const char* name : {"a.trk", "a.tck", "a.trx"}) {
    static_cast<void>(write(name));
    const std::string whole = bytes(name);
    for (const std::size_t part :
         {whole.size() - 1, whole.size() - 13, whole.size() / 2, std::size_t{40}, std::size_t{0}}) {
      put(name, whole.substr(0, part));
      const auto info = tractogram_info(at(name), {});
      ASSERT_FALSE(info) << name << " cut to " << part;
      EXPECT_NE(info.error().message().find(name), std::string::npos) << info.error().message();
    }
  }
}

TEST_F(Tracks, LyingTrkAndTckAreRefused) {
  static_cast<void>(write("a.trk"));
  const std::string trk = bytes("a.trk");
  const auto change = [&](std::size_t at, auto value) {
    std::string text = trk;
    std::memcpy(text.data() + at, &value, sizeof value);
    put("b.trk", text);
  };
  change(988, std::int32_t{1000000000});
  expect_refused("b.trk", ErrorCode::corrupt_data, "n_count");
  change(988, std::int32_t{-3});
  expect_refused("b.trk", ErrorCode::invalid_metadata, "n_count");
  change(996, std::int32_t{348});
  expect_refused("b.trk", ErrorCode::invalid_metadata, "hdr_size");
  change(36, std::int16_t{-1});
  expect_refused("b.trk", ErrorCode::invalid_metadata, "n_scalars");
  change(12, 0.0F);
  expect_refused("b.trk", ErrorCode::invalid_metadata, "voxel_size");
  change(440, std::numeric_limits<float>::quiet_NaN());
  expect_refused("b.trk", ErrorCode::invalid_metadata, "no inverse");
  change(948, std::int32_t{0x41414141});
  expect_refused("b.trk", ErrorCode::invalid_metadata, "voxel_order");
  change(1000, std::int32_t{0x7fffffff});
  expect_refused("b.trk", ErrorCode::corrupt_data, "streamline 0");
  change(1000, std::int32_t{-1});
  expect_refused("b.trk", ErrorCode::corrupt_data, "-1 points");
  put("b.tck", "mrtrix tracks\ndatatype: Float32LE\nfile: other.dat 0\nEND\n");
  expect_refused("b.tck", ErrorCode::invalid_metadata, "file");
  put("b.tck", "mrtrix tracks\ndatatype: Int16\nfile: . 60\nEND\n");
  expect_refused("b.tck", ErrorCode::invalid_metadata, "datatype");
  put("b.tck", "mrtrix tracks\ndatatype: Float32LE\nfile: . 99999999999\nEND\n");
  expect_refused("b.tck", ErrorCode::corrupt_data, "99999999999");
  put("b.tck", "mrtrix tracks\ndatatype: Float32LE\nfile: . 60\n");
  expect_refused("b.tck", ErrorCode::invalid_metadata, "END");
  expect_refused("none.trx", ErrorCode::not_found, "none.trx");
  expect_refused("a.vtk", ErrorCode::invalid_argument, ".trx, .trk or .tck");
}

}  // namespace
}  // namespace penstock
