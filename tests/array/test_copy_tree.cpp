// Copies of groups and pyramids: whole or nothing, resumed or refused, replacing only what can be replaced.
#include <gtest/gtest.h>

#include "faults/fault_store.hpp"
#include "format/format.hpp"
#include "format/zarr/consolidated.hpp"
#include "model.hpp"
#include "penstock/copy.hpp"
#include "store/store_kinds.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::shared_ptr<Store> memory() { return open_store("memory://", StoreMode::create).value(); }

Array filled(const std::shared_ptr<Store>& store, const std::string& path, const Dataset& d, unsigned seed) {
  Array array = Array::create(store, path, d, Array::IfExists::fail).value();
  std::mt19937_64 random(seed);
  EXPECT_TRUE(test::write(array, whole(d.shape), random_values(whole(d.shape), d.dtype.size_bytes, random)));
  return array;
}

Dataset small(int zarr_format) {
  Dataset d = dataset({8, 8}, {4, 4});
  d.format.version = zarr_format;
  if (zarr_format == 2) d.placement = KeyEncoding{KeyEncoding::Kind::v2, '.'};
  return d;
}

/// a, sub/b, sub/c below a group with an attribute.
struct Tree {
  std::shared_ptr<Store> store = memory();
  Node root;
  explicit Tree(int zarr_format = 3) : root(make(store, zarr_format)) {}
  static Node make(const std::shared_ptr<Store>& store, int zarr_format) {
    const Group group =
        Group::create(store, "from", {{"zarr", zarr_format}, R"({"k":1})"}, Array::IfExists::fail).value();
    for (const char* name : {"from/a", "from/sub/b", "from/sub/c"})
      filled(store, name, small(zarr_format), static_cast<unsigned>(name[5]));
    return Node(group);
  }
};

CopyOptions with(Array::IfExists if_exists, Resume resume = Resume::no) {
  CopyOptions how;
  how.if_exists = if_exists;
  how.resume = resume;
  return how;
}
const CopyOptions kNew = with(Array::IfExists::fail);
const CopyOptions kResume = with(Array::IfExists::fail, Resume::yes);
const CopyOptions kReplace = with(Array::IfExists::overwrite);

/// All objects below a prefix, by their keys there.
std::map<std::string, std::string> objects(const Store& store, const std::string& prefix) {
  std::map<std::string, std::string> all;
  for (const std::string& key : store.list(prefix).value()) {
    Bytes bytes;
    EXPECT_TRUE(store.get(key, bytes).value());
    all[prefix.empty() ? key : key.substr(prefix.size() + 1)] = std::string(as_text(bytes));
  }
  return all;
}

std::string message(const Result<Report>& report, ErrorCode code) {
  if (report) return "it was done";
  EXPECT_EQ(report.error().code(), code) << report.error().message();
  return report.error().message();
}

/// Copies with the n-th call failing, for every n, as if the process had been killed there; then goes on.
void fail_everywhere(const Node& from, const CopyOptions& how, const std::shared_ptr<Store>& parent,
                     const std::string& to) {
  const auto whole_store = memory();
  ASSERT_TRUE(copy(from, whole_store, "to", how, threads(1)));
  const auto expected = objects(*whole_store, "to");
  CopyOptions resume = how;
  resume.resume = Resume::yes;
  for (const StoreOp op : {StoreOp::set, StoreOp::erase}) {
    for (int n = 0;; ++n) {
      SCOPED_TRACE("call " + std::to_string(n) + " of kind " + std::to_string(static_cast<int>(op)));
      const auto faulty = std::make_shared<FaultStore>(parent);
      faulty->add({.op = op, .skip = n, .error = ErrorCode::io_error});
      if (copy(from, faulty, to, how, threads(1))) {
        ASSERT_GT(n, 0);
        ASSERT_TRUE(parent->erase_prefix(to));
        break;
      }
      const auto stands = open(parent, to);
      auto there = objects(*parent, to);
      there.erase(".penstock-copy.json");
      if (stands) EXPECT_EQ(there, expected) << "opens as a whole";
      const auto resumed = copy(from, parent, to, resume, threads(1));
      ASSERT_TRUE(resumed) << resumed.error().message();
      ASSERT_EQ(objects(*parent, to), expected);
      ASSERT_TRUE(parent->erase_prefix(to));
    }
  }
}

}  // namespace

TEST(CopyTree, CopiesAllThatIsBelow) {
  const Tree tree;
  const auto to = memory();
  const auto report = copy(tree.root, to, "to", kNew, threads(2));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(objects(*to, "to"), objects(*tree.store, "from"));
  EXPECT_EQ(report->decoded_bytes, 3u * 64 * 2);
  ASSERT_TRUE(report->written.has_value());
  EXPECT_EQ(report->written->chunks, 12u);
  EXPECT_EQ(report->chunks, 24u);
  EXPECT_NE(report->text().find(" read     12 chunks, "), std::string::npos) << report->text();
  EXPECT_NE(report->text().find(" written  12 chunks, 12 requests, "), std::string::npos) << report->text();
  std::vector<std::string> stages;
  for (const StageReport& s : report->stages) stages.push_back(s.stage);
  EXPECT_EQ(stages, (std::vector<std::string>{"fetch", "decode", "assemble", "gather", "encode", "store"}));
}

TEST(CopyTree, AStoppedCopyOpensAsNothingAndIsResumed) {
  for (const int zarr_format : {2, 3}) {
    const Tree tree(zarr_format);
    SCOPED_TRACE(zarr_format);
    fail_everywhere(tree.root, kNew, memory(), "to");
    // Below a group of v2, directories without a document are groups too.
    const auto store = memory();
    ASSERT_TRUE(Group::create(store, "", {{"zarr", 2}, "{}"}, Array::IfExists::fail));
    fail_everywhere(tree.root, kNew, store, "to");
    fail_everywhere(Node(Array::open(tree.store, "from/a").value()), kNew, store, "to");
  }
}

TEST(CopyTree, AStoppedPyramidOpensAsNothingAndIsResumed) {
  const Tree tree;
  CopyOptions how;
  how.pyramid = PyramidOptions{};
  how.pyramid->levels = 3;
  fail_everywhere(Node(Array::open(tree.store, "from/a").value()), how, memory(), "to");
}

TEST(CopyTree, ResumeNamesWhatIsNotTheSame) {
  const Tree tree;
  const Node a = Array::open(tree.store, "from/a").value();
  const auto changed = [](const CopyChanges& changes) {
    CopyOptions how = kResume;
    how.changes = [=](const Dataset&) { return Result(changes); };
    return how;
  };
  CopyChanges chunks, region, codecs, v2;
  chunks.chunk_shape = Shape{2, 2};
  region.region = Region{{4, 4, 1}, {0, 8, 1}};
  codecs.compressors = std::vector<CodecSpec>{};
  v2.zarr_format = 2;
  const Node other_source = filled(tree.store, "other", small(3), 99);
  Dataset wide = small(3);
  wide.dtype = DType::uint32();
  wide.fill.assign(4, std::byte{0});
  const Node other_type = filled(tree.store, "wide", wide, 3);
  for (const bool finished : {false, true}) {
    SCOPED_TRACE(finished ? "finished" : "stopped");
    const auto to = memory();
    const auto faulty = std::make_shared<FaultStore>(to);
    if (!finished) faulty->add({.op = StoreOp::set, .keys = "*/c/1/1", .error = ErrorCode::io_error});
    EXPECT_EQ(static_cast<bool>(copy(a, faulty, "to", kNew, threads(1))), finished);
    const auto before = objects(*to, "to");
    const auto refused = [&](const Node& from, const CopyOptions& how) {
      return message(copy(from, to, "to", how, threads(1)), ErrorCode::already_exists);
    };
    const auto expect_in = [](const std::string& text, const std::string& part) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    expect_in(refused(a, changed(chunks)), "chunk_grid is ");
    expect_in(refused(a, changed(codecs)), "codecs is ");
    expect_in(refused(a, changed(v2)), "it is zarr v3 there, v2 was asked for");
    expect_in(refused(a, changed(region)),
              finished ? "shape is [8,8] there, [4,8] was asked for" : "the region of the ");
    expect_in(refused(other_type, kResume), finished ? "data_type is " : "it is a copy of ");
    expect_in(refused(other_source, kResume), finished ? "element [0, 0] is not the source's" : "it is a copy of ");
    expect_in(refused(tree.root, kResume), finished ? "" : "it is a copy of ");
    EXPECT_EQ(objects(*to, "to"), before) << "nothing was touched";
  }
}

TEST(CopyTree, ACompleteCopyHasNothingToDo) {
  for (const int zarr_format : {2, 3}) {
    const Tree tree(zarr_format);
    const auto to = memory();
    ASSERT_TRUE(copy(tree.root, to, "to", kNew, threads(1)));
    const auto again = copy(tree.root, to, "to", kResume, threads(1));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->text(), " copy: complete already; nothing to do\n");
    // One element of one array.
    Array c = Array::open(to, "to/sub/c").value();
    const std::uint16_t other = 7;
    ASSERT_TRUE(c.write({{5, 1, 1}, {6, 1, 1}}, {const_cast<std::uint16_t*>(&other), {}, {}, {}}, {}));
    const std::string why = message(copy(tree.root, to, "to", kResume, threads(1)), ErrorCode::already_exists);
    EXPECT_NE(why.find("to/sub/c: "), std::string::npos) << why;
    EXPECT_NE(why.find("element [5, 6] is not the source's"), std::string::npos) << why;
  }
}

TEST(CopyTree, FilesOfUnknownOriginAreNotGoneOnWith) {
  const Tree tree;
  const Node a = Array::open(tree.store, "from/a").value();
  const auto to = memory();
  ASSERT_TRUE(to->set("to/c/0/0", as_bytes("of another array")));
  const std::string why = message(copy(a, to, "to", kResume, threads(1)), ErrorCode::already_exists);
  EXPECT_NE(why.find("no copy that could be resumed"), std::string::npos) << why;
}

TEST(CopyTree, WhatStandsGoesOnlyWhenTheSourceCanBeRead) {
  const TemporaryDirectory scratch;
  for (const std::string& url : {scratch / "old.zarr", scratch / "old.zip", std::string("memory://replaced")}) {
    SCOPED_TRACE(url);
    const Tree tree;
    const auto bad = std::make_shared<FaultStore>(tree.store);
    const Node root = open(bad, "from").value();
    const auto store = open_store(url, StoreMode::create).value();
    filled(store, "", small(3), 5);
    ASSERT_TRUE(store->flush());
    const auto before = objects(*open_store(url, StoreMode::read).value(), "");
    bad->add({.op = StoreOp::open, .keys = "from/sub/c/c/*", .error = ErrorCode::corrupt_data});
    EXPECT_FALSE(copy(root, url, "", kReplace, threads(1)));
    EXPECT_EQ(objects(*open_store(url, StoreMode::read).value(), ""), before);
    // With the store that is open too.
    EXPECT_FALSE(copy(root, open_store(url, StoreMode::read_write).value(), "", kReplace, threads(1)));
    EXPECT_EQ(objects(*open_store(url, StoreMode::read).value(), ""), before);
    bad->clear();
    const auto replaced = copy(root, url, "", with(Array::IfExists::overwrite, Resume::yes), threads(1));
    ASSERT_TRUE(replaced) << replaced.error().message();
    EXPECT_EQ(objects(*open_store(url, StoreMode::read).value(), ""), objects(*tree.store, "from"));
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 2) << "nothing is left beside";
}

TEST(CopyTree, ADirectoryThatMayNotBeWrittenBesideIsReplacedInItsPlace) {
  const TemporaryDirectory scratch;
  const Tree tree;
  const std::string url = scratch / "old.zarr";
  filled(open_store(url, StoreMode::create).value(), "", small(3), 5);
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(url);  // would be left in the directory that is removed
  const auto report = copy(tree.root, ".", "", kReplace, threads(1));
  std::filesystem::current_path(here);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(objects(*open_store(url, StoreMode::read).value(), ""), objects(*tree.store, "from"));
}

TEST(CopyTree, PlacesThatOverlapAreRefused) {
  const Tree tree;
  const auto to = [&](const std::string& path) {
    return message(copy(tree.root, tree.store, path, kReplace, threads(1)), ErrorCode::invalid_argument);
  };
  EXPECT_EQ(to("from"), "a node cannot be copied onto itself");
  EXPECT_EQ(to("from/inner"), "a node cannot be copied to a place inside or around itself");
  EXPECT_EQ(to(""), "a node cannot be copied to a place inside or around itself");
  EXPECT_TRUE(copy(tree.root, tree.store, "from2", kNew, threads(1)));
  EXPECT_TRUE(copy(tree.root, memory(), "from", kNew, threads(1))) << "the same path of another store";
}

TEST(CopyTree, ConsolidatedMetadataAreMadeAnewAndNotBelieved) {
  for (const int zarr_format : {2, 3}) {
    SCOPED_TRACE(zarr_format);
    const Tree tree(zarr_format);
    ASSERT_TRUE(std::get<Group>(tree.root).consolidate());
    // Another program adds an array and takes one away; what is consolidated does not know.
    const auto other = memory();
    filled(other, "d", small(zarr_format), 8);
    for (const auto& [key, bytes] : objects(*other, "d"))
      ASSERT_TRUE(tree.store->set("from/d/" + key, as_bytes(bytes)));
    ASSERT_TRUE(tree.store->erase_prefix("from/a"));
    const auto to = memory();
    const Node root = open(tree.store, "from").value();
    ASSERT_TRUE(copy(root, to, "to", kNew, threads(1)));
    const auto consolidated = read_consolidated(*to, "to").value();
    std::vector<std::string> names;
    for (const auto& [name, node] : consolidated) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"d", "sub", "sub/b", "sub/c"}));
    EXPECT_TRUE(Array::open(to, "to/d"));
    const auto again = copy(root, to, "to", kResume, threads(1));
    ASSERT_TRUE(again) << again.error().message();
    // An array in the place of a group that had some.
    ASSERT_TRUE(Array::create(to, "to", small(zarr_format), Array::IfExists::overwrite));
    EXPECT_FALSE(has_consolidated(*to, "to").value());
  }
}

TEST(CopyTree, LabelsOfAnImageAreListedAndPointBack) {
  for (const int zarr_format : {2, 3}) {
    const auto store = memory();
    Dataset d = small(zarr_format);
    std::get<KeyEncoding>(d.placement).separator = '/';
    const Array source = filled(store, "source", d, 1);
    PyramidOptions pyramid;
    pyramid.levels = 2;
    pyramid.scale = {2, 3};
    ASSERT_TRUE(write_pyramid(source, store, "image", pyramid, Array::IfExists::fail, threads(1)));
    const Group image = Group::open(store, "image").value();
    PyramidOptions nearest;
    nearest.method = Downsample::nearest;
    nearest.levels = 1;
    for (const char* name : {"cells", "more/nuclei"}) {
      const auto report = write_label(image, name, source, nearest, Array::IfExists::fail, threads(1));
      ASSERT_TRUE(report) << report.error().message();
    }
    const Group labels = Group::open(store, "image/labels").value();
    EXPECT_EQ(parse_ngff_labels(labels.info().attributes).value(), (std::vector<std::string>{"cells", "more/nuclei"}));
    const Group cells = Group::open(store, "image/labels/cells").value();
    EXPECT_EQ(ngff_kind(cells.info().attributes).value(), "label image");
    EXPECT_EQ(cells.multiscales().value()[0].levels[0].scale, (std::vector<double>{2, 3}));
    EXPECT_NE(cells.info().attributes.find(R"("../../")"), std::string::npos) << cells.info().attributes;
    EXPECT_TRUE(cells.image_problems().value().empty());
    EXPECT_EQ(write_label(image, "cells", source, nearest, Array::IfExists::fail, {}).error().code(),
              ErrorCode::already_exists);
    EXPECT_EQ(write_label(cells, "../x", source, nearest, Array::IfExists::fail, {}).error().code(),
              ErrorCode::invalid_argument);
    EXPECT_EQ(write_label(labels, "x", source, nearest, Array::IfExists::fail, {}).error().code(),
              ErrorCode::invalid_argument);
  }
}

TEST(CopyTree, ProblemsOfAnImageAreNamed) {
  const auto store = memory();
  PyramidOptions pyramid;
  pyramid.levels = 2;
  ASSERT_TRUE(write_pyramid(filled(store, "source", small(3), 1), store, "image", pyramid, Array::IfExists::fail, {}));
  const Group image = Group::open(store, "image").value();
  EXPECT_TRUE(image.image_problems().value().empty());
  ASSERT_TRUE(store->erase_prefix("image/1"));
  const auto problems = image.image_problems().value();
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].find("level 1 (1): "), std::string::npos) << problems[0];
  EXPECT_TRUE(
      Group::create(store, "plain", {{"zarr", 3}, "{}"}, Array::IfExists::fail).value().image_problems()->empty());
}
