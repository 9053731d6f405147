// Documents that zarr-python wrote (tests/golden/format/make_zarr.py): read as zarr-python means them, written back as
// they were, and their codecs known.
#include <gtest/gtest.h>

#include "codec/chain.hpp"
#include "core/json.hpp"
#include "format/golden.hpp"
#include "format/support.hpp"
#include "format/zarr/zarr.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<std::size_t>(b) >> 4];
    text += kDigits[std::to_integer<std::size_t>(b) & 15];
  }
  return text;
}

struct Entry {
  std::string name;
  Json json;
  [[nodiscard]] std::string text(const char* key) const { return json.at(key).get<std::string>(); }
};

std::vector<Entry> entries(const std::string& file) {
  std::vector<Entry> out;
  const Json document = parse_json(golden("format/" + file)).value();
  for (const Json& item : document) out.push_back({item.at("name").get<std::string>(), item});
  EXPECT_GT(out.size(), 30U);
  return out;
}

/// Type, fill value and codecs mean what zarr-python says.
void check_meaning(const Entry& entry, const Dataset& d) {
  EXPECT_EQ(d.dtype.numpy(), entry.text("numpy"));
  EXPECT_EQ(d.dtype.is_vlen() ? Json() : Json(d.dtype.size_bytes), entry.json.at("item_bytes"));
  if (d.fill.empty() && !d.dtype.is_vlen()) {
    EXPECT_NE(entry.text(".zarray").find("\"fill_value\": null"), std::string::npos);
  } else {
    EXPECT_EQ(hex(d.fill), entry.text("fill"));
  }
  const auto chain = CodecChain::make(d.codecs, ChunkSpec{d.chunk_shape, d.dtype, d.fill});
  EXPECT_TRUE(chain) << (chain ? "" : chain.error().message());
}

/// The same members in the same order, with the same values.  zarr-python escapes what is not ASCII, and the order
/// inside a codec is free.
void expect_same_json(const std::string& made, const std::string& expected) {
  const auto names = [](const std::string& text) {
    std::string all;
    const Json document = parse_json(text).value();
    for (const auto& [name, value] : document.items()) all += name + " ";
    return all;
  };
  EXPECT_EQ(names(made), names(expected));
  EXPECT_EQ(nlohmann::json::parse(made), nlohmann::json::parse(expected));
}

}  // namespace

TEST(Golden, Zarr2) {
  for (const Entry& entry : entries("zarr_v2.json")) {
    SCOPED_TRACE(entry.name);
    const auto d = parse_zarr2_array(entry.text(".zarray"), entry.text(".zattrs"));
    ASSERT_TRUE(d) << d.error().message();
    check_meaning(entry, *d);
    const auto documents = write_zarr2(*d);
    ASSERT_TRUE(documents) << documents.error().message();
    ASSERT_EQ(documents->size(), 2U);
    for (const Document& document : *documents) expect_same_json(document.text, entry.text(document.name.c_str()));
  }
}

TEST(Golden, Zarr3) {
  for (const Entry& entry : entries("zarr_v3.json")) {
    SCOPED_TRACE(entry.name);
    const auto node = parse_zarr3(entry.text("zarr.json"));
    ASSERT_TRUE(node) << node.error().message();
    const auto& d = std::get<Dataset>(*node);
    check_meaning(entry, d);
    const auto text = write_zarr3(d);
    ASSERT_TRUE(text) << text.error().message();
    Json expected = parse_json(entry.text("zarr.json")).value();
    // One thing is written that zarr-python leaves open: the byte order of structures.
    for (Json& codec : expected["codecs"])
      if (codec["name"] == "bytes" && d.dtype.kind == Kind::structure) codec["configuration"]["endian"] = "little";
    EXPECT_EQ(parse_json(*text).value(), expected) << *text;
    EXPECT_EQ(describe(std::get<Dataset>(parse_zarr3(*text).value())), describe(d));
  }
}

// A v2 array written as v3 (and back) keeps its meaning wherever v3 has a form for it.
TEST(Golden, Zarr2BecomesZarr3AndBack) {
  int written = 0;
  for (const Entry& entry : entries("zarr_v2.json")) {
    SCOPED_TRACE(entry.name);
    const Dataset d = parse_zarr2_array(entry.text(".zarray"), entry.text(".zattrs")).value();
    const auto text = write_zarr3(d);
    if (!text) {
      EXPECT_EQ(entry.name, "struct_mixed_order") << text.error().message();
      EXPECT_EQ(text.error().code(), ErrorCode::unsupported);
      continue;
    }
    ++written;
    Dataset v3 = std::get<Dataset>(parse_zarr3(*text).value());
    EXPECT_EQ(v3.codecs, d.codecs);
    EXPECT_EQ(v3.dtype, d.dtype);
    v3.format.version = 2;
    v3.placement = d.placement;
    const auto back = write_zarr2(v3);
    ASSERT_TRUE(back) << back.error().message();
    if (d.fill.empty()) continue;  // null has become zeros
    EXPECT_EQ(back->front().text, write_zarr2(d).value().front().text);
  }
  EXPECT_GT(written, 40);
}

TEST(Golden, ConsolidatedMetadata) {
  for (const int version : {2, 3}) {
    SCOPED_TRACE(version);
    const auto store = open_store("memory://", StoreMode::create).value();
    const std::string text = golden("format/consolidated_v" + std::to_string(version) + ".json");
    store->set(version == 2 ? "a/.zmetadata" : "a/zarr.json", as_bytes(text)).value();
    const auto nodes = read_consolidated(*store, "a");
    ASSERT_TRUE(nodes) << nodes.error().message();
    std::string names;
    for (const auto& [path, node] : *nodes) {
      names += path + (std::holds_alternative<Dataset>(node.value()) ? " array, " : " group, ");
      EXPECT_EQ(std::visit([](const auto& info) { return info.format.version; }, node.value()), version);
    }
    EXPECT_EQ(names, "g group, g/empty group, g/x array, y array, ");
    EXPECT_EQ(std::get<GroupInfo>(nodes->at("g").value()).attributes, R"({"in":"g"})");
    EXPECT_EQ(std::get<Dataset>(nodes->at("y").value()).attributes, R"({"in":"y"})");
    EXPECT_EQ(std::get<Dataset>(nodes->at("y").value()).fill, bytes_of<std::uint32_t>(0x7FC00000));
  }
}
