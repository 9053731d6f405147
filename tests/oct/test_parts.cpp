// Parts of the reconstruction by themselves: files, galvo, offsets, positions, blending.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/json.hpp"
#include "oct/file/names.hpp"
#include "oct/file/npy.hpp"
#include "oct/file/shifts.hpp"
#include "oct/file/slice_config.hpp"
#include "oct/raw/galvo.hpp"
#include "oct/raw/tiles.hpp"
#include "oct/simulate/noise.hpp"
#include "oct/simulate/subject.hpp"
#include "oct/transform/offset.hpp"
#include "oct/transform/tile_transform.hpp"

using namespace penstock;
using namespace penstock::oct;

namespace {

// Slices that a shift names and that are not there.
bool none_missing(std::uint64_t) { return false; }
bool any_missing(std::uint64_t) { return true; }

}  // namespace

TEST(Names, SaysWhichSliceAndWhereMetricsGo) {
  EXPECT_EQ(slice_of("a_z9/mosaic_grid_z03_illum.ome.zarr"), 3);
  EXPECT_EQ(slice_of("slice_z117.ome.zarr"), 117);
  EXPECT_EQ(slice_of("a_z9/mosaic.ome.zarr"), std::nullopt);
  EXPECT_EQ(slice_name("slice", 4), "slice_z04");
  EXPECT_EQ(metrics_path("out/slice_z00_crop.ome.zarr", "crop-below-interface"),
            "out/slice_z00_crop_crop_below_interface_metrics.json");
  EXPECT_EQ(metrics_path("out", "stack"), "out/stack_metrics.json");
}

TEST(Info, ReadsWhatIsNeededAndNamesWhatIsNot) {
  const std::string good =
      "nx: 64\r\nny: 32\nn_repeat: 1\nwidth: 640.5\nheight: 320\nn_extra: 12\ntop_z: 1\nbottom_z: 60";
  const auto info = parse_info(good);
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(info->depth(), 60u);
  EXPECT_EQ(info->lines(), 76u);
  EXPECT_DOUBLE_EQ(info->width_um, 640.5);
  for (const char* key : {"nx", "ny", "n_extra", "top_z", "bottom_z", "width", "height"}) {
    std::string text = good;
    text.replace(text.find(std::string(key) + ":"), std::string(key).size(), "other");
    const auto bad = parse_info(text);
    ASSERT_FALSE(bad) << key;
    EXPECT_EQ(bad.error().code(), ErrorCode::corrupt_data);
    EXPECT_NE(bad.error().message().find(key), std::string::npos) << bad.error().message();
  }
  EXPECT_EQ(parse_info("\xEF\xBB\xBF" + good)->nx, 64u);  // as editors of Windows write it
  EXPECT_EQ(parse_info(good + "\nny: 32\nnote: a\nnote: b")->ny, 32u);
  const auto twice = parse_info(good + "\nny: 33");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message().find("'ny' is there twice"), std::string::npos) << twice.error().message();
  for (const char* value : {"-1", "1e99", "abc", "", "2.5", "nan"}) {
    std::string text = good;
    text.replace(text.find("nx: 64"), 6, std::string("nx: ") + value);
    EXPECT_FALSE(parse_info(text)) << value;
  }
}

TEST(Tables, AreReadAsSpreadsheetsWriteThem) {
  const auto marked = parse_shifts("\xEF\xBB\xBF\"fixed_id\",moving_id,x_shift_mm,y_shift_mm\r\n0,1,2,3\r\n");
  ASSERT_TRUE(marked) << marked.error().message();
  ASSERT_EQ(marked->size(), 1U);
  EXPECT_EQ((*marked)[0].y_mm, 3);
  const auto twice = parse_shifts("fixed_id,moving_id,x_shift_mm,y_shift_mm,x_shift_mm\n0,1,2,3,4\n");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message().find("x_shift_mm is there twice"), std::string::npos) << twice.error().message();
  const auto semicolons = parse_shifts("fixed_id;moving_id;x_shift_mm;y_shift_mm\n0;1;2;3\n");
  ASSERT_FALSE(semicolons);
  EXPECT_NE(semicolons.error().hint().find("commas"), std::string::npos) << semicolons.error().hint();
}

TEST(Tables, SayWhichSlicesAreNotUsed) {
  const auto unused =
      parse_unused_slices("slice_id,use,notes\n00,true,\n01,False,torn\n2.0,no,\n3,1,\n\n4,0,\n05,yes,\n");
  ASSERT_TRUE(unused) << unused.error().message();
  EXPECT_EQ(*unused, (std::set<std::uint64_t>{1, 2, 4}));
  const std::pair<const char*, const char*> bad[] = {{"slice_id,notes\n0,x\n", "no column use"},
                                                     {"slice_id,use\n0,maybe\n", "line 2: use: 'maybe'"},
                                                     {"slice_id,use\n0\n", "line 2: use: ''"},
                                                     {"slice_id,use\n-1,true\n", "line 2: slice_id: -1"},
                                                     {"slice_id,use\n1,true\n1.0,false\n", "line 3: slice 1 is there"},
                                                     {"", "empty"}};
  for (const auto& [text, words] : bad) {
    const auto refused = parse_unused_slices(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().message().find(words), std::string::npos) << refused.error().message();
  }
}

TEST(Shifts, AddUpAlongTheChain) {
  const auto shifts = parse_shifts(
      "moving_id,fixed_id,x_shift,y_shift,x_shift_mm,y_shift_mm,reliable\n1.0,0.0,9,9,0.1,-0.2,1.0\n\n"
      "3,1,0,0,0.05,0.5,0\r\n");
  ASSERT_TRUE(shifts) << shifts.error().message();
  const std::vector<std::uint64_t> slices = {0, 1, 3};
  const auto at = chain_shifts(*shifts, slices, none_missing);
  ASSERT_TRUE(at) << at.error().message();
  EXPECT_DOUBLE_EQ((*at)[1].x_mm, 0.1);
  EXPECT_DOUBLE_EQ((*at)[1].y_mm, -0.2);
  EXPECT_DOUBLE_EQ((*at)[2].x_mm, 0.15);
  EXPECT_DOUBLE_EQ((*at)[2].y_mm, 0.3);
  // What was written is read back.
  EXPECT_EQ(parse_shifts(shifts_text(*shifts, 0.01))->size(), 2u);
}

TEST(Shifts, RefuseWhatDoesNotFit) {
  const std::vector<Shift> shifts = {{0, 1, 0, 0}, {1, 2, 0, 0}};
  const std::vector<std::uint64_t> two = {0, 2}, four = {0, 1, 2, 5};
  const auto unknown = chain_shifts(shifts, two, none_missing);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("slice 1"), std::string::npos);
  EXPECT_TRUE(chain_shifts(shifts, two, any_missing));
  const auto unreached = chain_shifts(shifts, four, none_missing);
  ASSERT_FALSE(unreached);
  EXPECT_NE(unreached.error().message().find("slice 5"), std::string::npos);
  EXPECT_FALSE(
      chain_shifts(std::vector<Shift>{{0, 1, 0, 0}, {0, 1, 0, 0}}, std::vector<std::uint64_t>{0, 1}, none_missing));
  EXPECT_FALSE(chain_shifts(std::vector<Shift>{{1, 0, 0, 0}}, std::vector<std::uint64_t>{0, 1}, none_missing));
  for (const char* bad :
       {"", "fixed_id,moving_id,x_shift_mm\n", "fixed_id,moving_id,x_shift_mm,y_shift_mm\n0,1,2\n",
        "fixed_id,moving_id,x_shift_mm,y_shift_mm\n0,1,2,x\n", "fixed_id,moving_id,x_shift_mm,y_shift_mm\n0,-1,2,2\n",
        "fixed_id,moving_id,x_shift_mm,y_shift_mm\n0,1,inf,2\n"}) {
    const auto parsed = parse_shifts(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code(), ErrorCode::corrupt_data);
  }
}

TEST(Npy, ReadsWhatItWritesAndRefusesWhatIsCutOff) {
  const std::vector<double> values = {1, -2.5, 1e300, 0, 5, 6};
  const std::string text = npy_text(Shape{2, 3}, values);
  EXPECT_EQ(text.size() % 64, 48u);  // a header of whole 64 bytes
  const auto read = parse_npy(as_bytes(text));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->shape, (Shape{2, 3}));
  EXPECT_EQ(read->values, values);
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(parse_npy(as_bytes(text.substr(0, n)))) << n;
  EXPECT_FALSE(parse_npy(as_bytes(text + "x")));
}

TEST(Galvo, FindsEveryShiftExactly) {
  constexpr std::uint64_t sweep = 64, extra = 12, lines = sweep + extra, scans = 24;
  for (std::uint64_t shift = 0; shift < lines; ++shift) {
    std::vector<float> columns(lines * scans);
    std::vector<double> profile(lines);
    for (std::uint64_t y = 0; y < scans; ++y)
      for (std::uint64_t x = 0; x < lines; ++x) {
        // Tissue that varies along the sweep; the way back is the same backwards, and darker.
        const std::uint64_t from = x < sweep ? x : (lines - 1 - x) * (sweep - 1) / (extra - 1);
        double v = 60 + 25 * smooth_noise(shift, 0, static_cast<double>(y) / 9, static_cast<double>(from) / 9);
        v *= speckle(5, (shift * scans + y) * lines + x) * 0.1 + 0.9;
        if (x >= sweep) v *= 0.6;
        const std::uint64_t line = (x + lines - shift) % lines;
        columns[y * lines + line] = static_cast<float>(v);
        profile[line] += v / scans;
      }
    const GalvoShift found = find_galvo_shift(profile, columns, extra);
    EXPECT_EQ(found.shift, shift);
    EXPECT_GT(found.confidence, 0.8) << shift;
  }
}

TEST(Galvo, IsNotSureWhereNothingIsToBeSeen) {
  std::mt19937 random(1);
  std::vector<float> columns(76 * 24);
  std::vector<double> profile(76);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i] = 50 + static_cast<float>(random() % 100) / 100;
    profile[i % 76] += columns[i] / 24;
  }
  EXPECT_LT(find_galvo_shift(profile, columns, 12).confidence, 0.6);
  EXPECT_EQ(find_galvo_shift(profile, columns, 0).confidence, 0);
  std::ranges::fill(columns, 0.0f);
  EXPECT_EQ(find_galvo_shift(profile, columns, 12).confidence, 0);  // too dark to judge
}

TEST(Tile, IsRolledCutAndTurned) {
  TileInfo info{3, 2, 1, 1, 2, 30, 20};
  RawSamples samples{{}, 2, 4, 2};
  std::vector<float> raw;
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 4; ++x)
      for (int z = 0; z < 2; ++z) raw.push_back(static_cast<float>(100 * z + 10 * y + x));
  samples.bytes = Bytes::copy_of(std::as_bytes(std::span(raw))).value();
  EXPECT_EQ(oriented_shape(info, Orientation::legacy), (Shape{2, 2, 3}));
  std::vector<float> out(12);
  // Rolled forward by one: line 3 comes first, and the way back, line 2, is cut off.
  place_tile(samples, info, 1, Orientation::legacy, out.data(), 3, 6);
  EXPECT_EQ(out, (std::vector<float>{11, 10, 13, 1, 0, 3, 111, 110, 113, 101, 100, 103}));
  place_tile(samples, info, 1, Orientation::none, out.data(), 2, 6);
  EXPECT_EQ(out, (std::vector<float>{3, 13, 0, 10, 1, 11, 103, 113, 100, 110, 101, 111}));
}

namespace {

Image noise_image(std::uint64_t rows, std::uint64_t cols, double row, double col) {
  Image image{rows, cols, {}};
  for (std::uint64_t r = 0; r < rows; ++r)
    for (std::uint64_t c = 0; c < cols; ++c)
      image.values.push_back(static_cast<float>(
          1 + smooth_noise(3, 0, (row + static_cast<double>(r)) / 5, (col + static_cast<double>(c)) / 5)));
  return image;
}

std::optional<Offset> offset_of(const Image& fixed, const Image& moving, const Offset& guess, std::uint64_t reach) {
  const auto view = [](const Image& image) {
    return transform::ImageView{image.values.data(), image.rows, image.cols, image.cols};
  };
  std::optional<Offset> found;
  const Status done = with_tools({}, "test", {}, [&](const Tools& tools) -> Status {
    PENSTOCK_ASSIGN(found, find_offset(view(fixed), view(moving), guess, reach, tools.work));
    return {};
  });
  EXPECT_TRUE(done) << done.error().message();
  return found;
}

}  // namespace

TEST(Offset, IsFoundBetweenPixelsAndWithoutBias) {
  double sum = 0, count = 0;
  for (const double row : {38.0, 40.3, 43.5, 36.7})
    for (const double col : {-2.5, 0.0, 1.25}) {
      const auto found = offset_of(noise_image(48, 48, 0, 0), noise_image(48, 48, row, col), {39, 0, 0}, 6);
      ASSERT_TRUE(found);
      EXPECT_NEAR(found->row, row, 0.3);
      EXPECT_NEAR(found->col, col, 0.3);
      EXPECT_GT(found->score, 0.9);
      // The other way round it is the same distance: no half pixel is added in either direction.
      const auto back = offset_of(noise_image(48, 48, row, col), noise_image(48, 48, 0, 0), {-39, 0, 0}, 6);
      ASSERT_TRUE(back);
      sum += found->row + back->row;
      count += 1;
    }
  EXPECT_NEAR(sum / count, 0, 0.02);
  // Coarse to fine over a large image.
  const auto far = offset_of(noise_image(200, 200, 0, 0), noise_image(200, 200, 161, 17), {150, 0, 0}, 30);
  ASSERT_TRUE(far);
  EXPECT_NEAR(far->row, 161, 0.3);
  EXPECT_NEAR(far->col, 17, 0.3);
}

TEST(Offset, IsNoneOfWhatDoesNotVary) {
  const Image flat{32, 32, std::vector<float>(1024, 7)};
  EXPECT_FALSE(offset_of(flat, noise_image(32, 32, 0, 0), {}, 3));
  const Image empty{32, 32, std::vector<float>(1024, 0)};
  EXPECT_FALSE(offset_of(empty, empty, {}, 3));
  Image nan = noise_image(32, 32, 0, 0);
  nan.values.assign(nan.values.size(), std::nanf(""));
  EXPECT_FALSE(offset_of(nan, nan, {}, 3));
}

TEST(Offset, OfManyPairsIsThatOfEach) {
  // Views of one image with a stride of its own, coarse to fine, one of them without anything.
  const Image sheet = noise_image(120, 200, 0, 0);
  const Image empty{60, 60, std::vector<float>(3600, 0)};
  const std::vector<transform::ImageView> views = {{sheet.values.data(), 60, 64, 200},
                                                   {sheet.values.data() + 45 * 200 + 3, 60, 64, 200},
                                                   {sheet.values.data() + 2 * 200 + 50, 60, 64, 200},
                                                   {empty.values.data(), 60, 60, 60}};
  const std::vector<ImagePair> pairs = {
      {0, 1, {41, 0, 0}}, {0, 2, {0, 44, 0}}, {0, 3, {41, 0, 0}}, {1, 0, {-41, 0, 0}}};
  std::vector<std::optional<Offset>> found;
  ASSERT_TRUE(with_tools({}, "test", {}, [&](const Tools& tools) -> Status {
    PENSTOCK_ASSIGN(found, find_offsets(views, pairs, 12, tools.work));
    return {};
  }));
  ASSERT_EQ(found.size(), 4u);
  ASSERT_TRUE(found[0] && found[1] && found[3]);
  EXPECT_FALSE(found[2]);
  EXPECT_NEAR(found[0]->row, 45, 0.1);
  EXPECT_NEAR(found[0]->col, 3, 0.1);
  EXPECT_NEAR(found[1]->row, 2, 0.1);
  EXPECT_NEAR(found[1]->col, 50, 0.1);
  EXPECT_NEAR(found[3]->row, -45, 0.1);
  EXPECT_NEAR(found[0]->score, 1, 1e-9);
}

TEST(Layout, RoundsToTheNearestPixel) {
  const auto layout = layout_of({{50.6, -0.7, 0.4, 49.5}}, 2, 2, 64, 60);
  ASSERT_TRUE(layout) << layout.error().message();
  EXPECT_EQ(layout->rows, (std::vector<std::uint64_t>{1, 0, 52, 51}));
  EXPECT_EQ(layout->cols, (std::vector<std::uint64_t>{0, 50, 0, 50}));
  // Rounding adds 0, -0.3, 0.4 and 0.1 rows, and 0, 0.5, -0.4 and 0.1 columns: by their mean the image begins earlier.
  EXPECT_NEAR(layout->top, -1 - 0.05, 1e-12);
  EXPECT_NEAR(layout->left, 0 - 0.05, 1e-12);
  EXPECT_EQ(layout->height, 52u + 64);
  EXPECT_EQ(layout->width, 50u + 60);
  for (const double bad : {1e9, std::nan(""), -1e300}) EXPECT_FALSE(layout_of({{50, bad, 0, 50}}, 2, 2, 64, 64));
}

TEST(Subject, DependsOnItsSeedOnly) {
  const Subject a = Subject::make(kSubjectSizes[0], 7), b = Subject::make(kSubjectSizes[0], 7),
                c = Subject::make(kSubjectSizes[0], 8);
  EXPECT_EQ(dump_json(a.truth()), dump_json(b.truth()));
  EXPECT_NE(dump_json(a.truth()), dump_json(c.truth()));
  EXPECT_EQ(a.make_tile(1, 2, 0), b.make_tile(1, 2, 0));
  EXPECT_NE(a.make_tile(1, 2, 0), a.make_tile(1, 2, 1));
  double flat = 0;
  for (int r = 0; r < 64; ++r)
    for (int col = 0; col < 64; ++col) flat += a.flat(r, col) / 4096;
  EXPECT_NEAR(flat, 1, 0.01);
}
