#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "format/format.hpp"
#include "format/golden.hpp"
#include "format/support.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

Multiscale image(const std::string& version) {
  Multiscale m;
  m.version = version;
  m.name = "brain";
  m.axes = {{"t", "time", "second"}, {"c", "channel", ""}, {"y", "space", "micrometer"}, {"x", "space", "micrometer"}};
  m.levels = {{"0", {1, 1, 0.5, 0.25}, {0, 0, 0, 0}}, {"1", {1, 1, 1, 0.5}, {0, 0, 0.25, 0.125}}};
  return m;
}

Dataset level_of(const std::string& version, Shape shape) {
  Dataset d;
  d.format.version = version == "0.4" ? 2 : 3;
  d.shape = d.chunk_shape = std::move(shape);
  d.dtype = DType::uint16();
  d.dims = {{"t"}, {"c"}, {"y"}, {"x"}};
  if (version == "0.4") d.placement = KeyEncoding{KeyEncoding::Kind::v2, '/'};
  return d;
}

std::vector<Dataset> levels_of(const std::string& version) {
  return {level_of(version, {2, 3, 64, 64}), level_of(version, {2, 3, 32, 32})};
}

void expect_equal(const Multiscale& a, const Multiscale& b) {
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.name, b.name);
  ASSERT_EQ(a.axes.size(), b.axes.size());
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    EXPECT_EQ(a.axes[i].name, b.axes[i].name);
    EXPECT_EQ(a.axes[i].type, b.axes[i].type);
    EXPECT_EQ(a.axes[i].unit, b.axes[i].unit);
  }
  ASSERT_EQ(a.levels.size(), b.levels.size());
  for (std::size_t i = 0; i < a.levels.size(); ++i) {
    EXPECT_EQ(a.levels[i].path, b.levels[i].path);
    EXPECT_EQ(a.levels[i].scale, b.levels[i].scale);
    EXPECT_EQ(a.levels[i].translation, b.levels[i].translation);
  }
}

constexpr std::string_view kSmall = R"({"multiscales": [{"version": "0.4", "name": "n",
  "axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
  "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [2, 3]},
                                                           {"type": "translation", "translation": [5, 7]}]}]}]})";

}  // namespace

TEST(Ngff, ImagesComeBack) {
  for (const std::string version : {"0.4", "0.5"}) {
    const int format = version == "0.4" ? 2 : 3;
    const std::string text = write_ngff(R"({"mine": 1})", {image(version)}).value();
    EXPECT_NE(text.find(R"("mine":1)"), std::string::npos);
    const auto back = parse_ngff(text, format).value();
    ASSERT_EQ(back.size(), 1U);
    expect_equal(back[0], image(version));
    EXPECT_EQ(write_ngff(text, back).value(), text);
  }
}

// The files were accepted by two validators; see tests/golden/format/check_ngff.py.
TEST(Ngff, WritesWhatValidatorsAccept) {
  for (const std::string version : {"0.4", "0.5"})
    EXPECT_EQ(write_ngff("{}", {image(version)}).value() + "\n", golden("format/ngff/penstock_" + version + ".json"));
  EXPECT_EQ(write_ngff_image_label(write_ngff("{}", {image("0.5")}).value(), "../../", 3).value() + "\n",
            golden("format/ngff/penstock_label_0.5.json"));
  EXPECT_EQ(write_ngff_image_label(write_ngff("{}", {image("0.4")}).value(), "../../", 2).value() + "\n",
            golden("format/ngff/penstock_label_0.4.json"));
}

TEST(Ngff, ReadsWhatNgffZarrWrites) {
  for (const std::string version : {"0.4", "0.5"}) {
    const auto images = parse_ngff(golden("format/ngff/ngff_zarr_" + version + ".json"), version == "0.4" ? 2 : 3);
    ASSERT_TRUE(images) << images.error().message();
    ASSERT_EQ(images->size(), 1U);
    const Multiscale& m = images->front();
    EXPECT_EQ(m.version, version);
    EXPECT_EQ(m.axes[1].unit, "micrometer");
    ASSERT_EQ(m.levels.size(), 2U);
    EXPECT_EQ(m.levels[1].path, "scale1/image");
    EXPECT_EQ(m.levels[1].scale, (std::vector<double>{1, 1, 0.5}));
    EXPECT_EQ(m.levels[1].translation, (std::vector<double>{0, 0.25, 0.125}));
  }
}

TEST(Ngff, TransformsAreComposed) {
  const std::string text = with(std::string(kSmall), R"("datasets")", R"("coordinateTransformations":
    [{"type": "scale", "scale": [10, 100]}, {"type": "translation", "translation": [1, 2]}], "datasets")");
  const auto images = parse_ngff(text, 2).value();
  EXPECT_EQ(images[0].levels[0].scale, (std::vector<double>{20, 300}));
  EXPECT_EQ(images[0].levels[0].translation, (std::vector<double>{51, 702}));
}

TEST(Ngff, NoImageIsNoError) {
  EXPECT_TRUE(parse_ngff("{}", 3).value().empty());
  EXPECT_TRUE(parse_ngff(R"({"ome": {"version": "0.5", "plate": {}}})", 3).value().empty());
}

TEST(Ngff, MembersOfOthersStay) {
  const std::string before =
      with(std::string(kSmall), R"("name": "n",)", R"("name": "n", "type": "gaussian", "metadata": {"a": 1},)");
  auto images = parse_ngff(before, 2).value();
  images[0].levels[0].path = "full";
  const std::string after = write_ngff(before, images).value();
  EXPECT_NE(after.find(R"("type":"gaussian","metadata":{"a":1})"), std::string::npos) << after;
  EXPECT_EQ(parse_ngff(after, 2).value()[0].levels[0].path, "full");
}

TEST(Ngff, RefusesWithTheMember) {
  const std::string small(kSmall);
  const std::vector<std::pair<std::string, std::string>> table = {
      {"[]", "attributes: must be a JSON object"},
      {R"({"multiscales": {}})", "multiscales: must be a list"},
      {R"({"multiscales": []})", "multiscales: must be a list of one image or more"},
      {R"({"multiscales": [1]})", "multiscales[0]: must be an object"},
      {R"({"multiscales": [{}]})", "multiscales[0]: the member \"axes\" is missing"},
      {R"({"ome": 1})", "ome: must be an object"},
      {R"({"ome": {}})", "ome: the member \"version\" is missing"},
      {with(small, R"("0.4")", R"("0.5")"), "multiscales[0].version: 0.5 keeps its images below"},
      {with(small, R"("0.4")", "4"), "multiscales[0].version: must be a string"},
      {with(small, R"({"name": "y", "type": "space"})", R"("y")"),
       "multiscales[0].axes[0]: must be an object with a name"},
      {with(small, R"({"name": "y", "type": "space"})", R"({"type": "space"})"),
       "multiscales[0].axes[0]: the member \"name\""},
      {with(small, R"({"name": "y", "type": "space"})", R"({"name": "y", "type": 1})"), "multiscales[0].axes[0].type"},
      {with(small, R"("path": "0")", R"("path": "../0")"),
       "multiscales[0].datasets[0].path: must lead to an array below"},
      {with(small, R"("path": "0")", R"("path": "/0")"), "multiscales[0].datasets[0].path"},
      {with(small, R"("path": "0")", R"("path": "")"), "multiscales[0].datasets[0].path"},
      {with(small, R"("path": "0")", R"("path": 0)"), "multiscales[0].datasets[0]: \"path\" must be a string"},
      {with(small, R"([2, 3])", "[2]"), "coordinateTransformations[0].scale: must be a list of 2 numbers"},
      {with(small, R"([2, 3])", "[2, \"3\"]"), "coordinateTransformations[0].scale: must be a list of numbers"},
      {with(small, R"([2, 3])", "[2, 0]"), "coordinateTransformations[0]: a scale of 0"},
      {with(small, R"("type": "translation")", R"("type": "scale")"),
       "coordinateTransformations[1]: must be of type \"translation\""},
      {with(small, R"({"type": "scale", "scale": [2, 3]},)", ""),
       "coordinateTransformations[0]: must be of type \"scale\""},
      {with(small, R"({"type": "translation", "translation": [5, 7]})",
            R"({"type": "translation", "translation": [5, 7]}, 1)"),
       "one scale and at most one translation"},
      {with(small, R"("datasets": [)", R"("datasets": [1, )"),
       "multiscales[0].datasets[0]: must be an object with a path"},
  };
  for (const auto& [text, member] : table) {
    const auto r = parse_ngff(text, 2);
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().code(), ErrorCode::invalid_metadata) << r.error().message();
    EXPECT_NE(r.error().message().find(member), std::string::npos) << r.error().message();
  }
  for (const std::string& text :
       {std::string(R"({"multiscales": [{"version": "0.6", "datasets": [{"path": "0"}]}]})"),
        std::string(R"({"ome": {"version": "0.6"}})"), with(small, R"("scale": [2, 3])", R"("path": "s")")}) {
    const auto r = parse_ngff(text, 3);
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().code(), ErrorCode::unsupported) << r.error().message();
  }
  const auto wrong_zarr = parse_ngff(write_ngff("{}", {image("0.5")}).value(), 2);
  EXPECT_NE(wrong_zarr.error().message().find("0.5 is for zarr v3"), std::string::npos);
}

TEST(Ngff, VersionsBefore04HaveAxesWithoutSizes) {
  for (const char* version : {"0.1", "0.2"}) {
    const auto five = parse_ngff(
        fmt::format(R"({{"multiscales": [{{"version": "{}", "datasets": [{{"path": "0"}}, {{"path": "1"}}]}}]}})",
                    version),
        2);
    ASSERT_TRUE(five) << five.error().message();
    const Multiscale& m = five->at(0);
    EXPECT_EQ(m.version, version);
    ASSERT_EQ(m.axes.size(), 5u);
    EXPECT_EQ(m.axes[0].name + m.axes[1].name + m.axes[4].name, "tcx");
    EXPECT_EQ(m.axes[0].type + m.axes[1].type + m.axes[4].type, "timechannelspace");
    ASSERT_EQ(m.levels.size(), 2u);
    EXPECT_EQ(m.levels[1].path, "1");
    EXPECT_EQ(m.levels[1].scale, (std::vector<double>(5, 1)));
  }
  const auto named = [](const std::string& axes) {
    return parse_ngff(R"({"multiscales": [{"version": "0.3", "axes": )" + axes + R"(, "datasets": [{"path": "a"}]}]})",
                      2);
  };
  EXPECT_EQ(named(R"(["z", "y", "x"])").value().at(0).axes[0].name, "z");
  for (const char* axes : {R"(["q"])", "[]", "[1]", R"("zyx")", R"(["t", "c", "z", "y", "x", "x"])"}) {
    const auto bad = named(axes);
    ASSERT_FALSE(bad) << axes;
    EXPECT_EQ(bad.error().code(), ErrorCode::invalid_metadata);
    EXPECT_NE(bad.error().message().find("multiscales[0].axes"), std::string::npos) << bad.error().message();
  }
  EXPECT_FALSE(parse_ngff(R"({"ome": {"version": "0.3", "multiscales": [{"datasets": [{"path": "a"}]}]}})", 3));
}

TEST(Ngff, WriterChecksWhatItIsGiven) {
  Multiscale m = image("0.5");
  m.levels[1].path = "../1";
  EXPECT_FALSE(write_ngff("{}", {m}));
  m = image("0.5");
  m.levels[0].scale.pop_back();
  EXPECT_FALSE(write_ngff("{}", {m}));
  m = image("0.3");
  EXPECT_EQ(write_ngff("{}", {m}).error().code(), ErrorCode::unsupported);
  EXPECT_FALSE(write_ngff("{}", {}));
  EXPECT_FALSE(write_ngff("{}", {image("0.4"), image("0.5")}));
}

TEST(Ngff, Labels) {
  EXPECT_EQ(write_ngff_labels("{}", {"cells"}, 2).value(), R"({"labels":["cells"]})");
  const std::string text = write_ngff_labels("{}", {"cells", "a/b"}, 3).value();
  EXPECT_EQ(text, R"({"ome":{"version":"0.5","labels":["cells","a/b"]}})");
  EXPECT_EQ(parse_ngff_labels(text).value(), (std::vector<std::string>{"cells", "a/b"}));
  EXPECT_TRUE(parse_ngff_labels("{}").value().empty());
  EXPECT_NE(parse_ngff_labels(R"({"labels": ["a", "../b"]})").error().message().find("labels[1]"), std::string::npos);
  EXPECT_NE(parse_ngff_labels(R"({"labels": [1]})").error().message().find("labels[0]"), std::string::npos);
  EXPECT_FALSE(write_ngff_labels("{}", {"../x"}, 3));
}

TEST(Ngff, Kinds) {
  EXPECT_EQ(ngff_kind("{}").value(), "");
  EXPECT_EQ(ngff_kind(kSmall).value(), "image");
  EXPECT_EQ(ngff_kind(R"({"ome": {"version": "0.5", "plate": {}}})").value(), "plate");
  EXPECT_EQ(ngff_kind(R"({"well": {}})").value(), "well");
  EXPECT_EQ(ngff_kind(write_ngff_image_label(kSmall, "", 2).value()).value(), "label image");
}

TEST(Ngff, ValidatesImageAndArrays) {
  const auto problems_of = [](const Multiscale& m, const std::vector<Dataset>& levels) {
    std::string all;
    for (const std::string& line : validate_ngff(m, levels)) all += line + "\n";
    return all;
  };
  EXPECT_EQ(problems_of(image("0.4"), levels_of("0.4")), "");
  EXPECT_EQ(problems_of(image("0.5"), levels_of("0.5")), "");
  using Change = std::function<void(Multiscale&, std::vector<Dataset>&)>;
  const std::vector<std::pair<Change, std::string>> table = {
      {[](auto& m, auto&) { std::swap(m.axes[0], m.axes[1]); }, "order time, channel, space"},
      {[](auto& m, auto&) { m.axes[3].type = "channel"; }, "1 axes of type \"space\""},
      {[](auto& m, auto&) { m.axes[1] = m.axes[0]; }, "two axes \"t\""},
      {[](auto& m, auto&) { m.axes[1].type = "time"; }, "more than one axis of type \"time\""},
      {[](auto& m, auto&) { m.levels[1].scale[2] = 0.1; }, "level 1 (1): finer than the level before along y"},
      {[](auto& m, auto&) { m.levels[0].scale[2] = -1; }, "level 0 (0): scales must be greater than 0"},
      {[](auto& m, auto&) { m.levels[0].scale.pop_back(); }, "need 4 numbers"},
      {[](auto&, auto& l) { l.pop_back(); }, "2 levels are listed, 1 arrays were found"},
      {[](auto&, auto& l) { l[1].dtype = DType::uint8(); }, "level 1 (1): uint8, level 0 is uint16"},
      {[](auto&, auto& l) { l[1].shape[3] = 65; }, "larger than the level before along dimension 3"},
      {[](auto&, auto& l) { l[0].shape.pop_back(); }, "3 dimensions, 4 axes"},
      {[](auto&, auto& l) { l[0].format.version = 2; }, "zarr v2, OME-NGFF 0.5 needs v3"},
      {[](auto&, auto& l) { l[0].dims[2].name = "q"; }, "dimension 2 is named \"q\", the axis \"y\""},
      {[](auto&, auto& l) { l[0].dims.clear(); }, "no dimension_names"},
  };
  for (const auto& [change, text] : table) {
    Multiscale m = image("0.5");
    std::vector<Dataset> levels = levels_of("0.5");
    change(m, levels);
    EXPECT_NE(problems_of(m, levels).find(text), std::string::npos) << text << "\n" << problems_of(m, levels);
  }
  std::vector<Dataset> dotted = levels_of("0.4");
  std::get<KeyEncoding>(dotted[0].placement).separator = '.';
  EXPECT_NE(problems_of(image("0.4"), dotted).find("separator"), std::string::npos);
}
