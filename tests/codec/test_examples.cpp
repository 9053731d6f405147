// The example in the head of each codec's spec.cpp must make that codec.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "codec/list.hpp"
#include "core/json.hpp"
#include "support.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// The first JSON object after `Example`, over as many comment lines as it takes.
std::vector<Json> examples_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<Json> found;
  std::string open;
  for (std::string line; std::getline(in, line) && line.starts_with("//");) {
    line.erase(0, 2);
    const auto at = line.find("Example");
    if (at != std::string::npos) line.erase(0, at + 7);
    if (at == std::string::npos && open.empty()) continue;
    open += line;
    const auto json = parse_json(open);
    if (!json) continue;
    found.push_back(*json);
    open.clear();
  }
  EXPECT_TRUE(open.empty()) << path << ": not JSON: " << open;
  return found;
}

/// Some chunk that the codec takes.
std::string made_by(const Json& example) {
  const CodecEntry* entry = find_file_codec(example.value("name", ""));
  Json configuration = example.value("configuration", Json::object());
  if (entry == nullptr) {
    const auto specs = codecs_from_json(Json::array({example}));
    if (!specs) return specs.error().message();
    entry = find_codec(specs->front().name);
    if (entry == nullptr) return "no such codec";
    configuration = parse_json(specs->front().configuration).value();
  }
  std::string reasons;
  for (const char* type : {"uint8", "uint16", "float64", "bool", "int32", "string", "bytes"}) {
    for (const Shape& shape : {Shape{64, 64}, Shape{64, 64, 64}}) {
      const auto made = entry->make(configuration, {shape, parse_dtype_name(type).value(), {}});
      if (made) return "";
      reasons += std::string(type) + ": " + made.error().message() + "\n";
    }
  }
  return reasons;
}

TEST(Examples, EveryCodecHasOneThatWorks) {
  std::map<std::string, int> seen;
  for (const auto& file : fs::recursive_directory_iterator(PENSTOCK_SOURCE_DIR "/src/codec")) {
    if (file.path().filename() != "spec.cpp") continue;
    const auto examples = examples_of(file.path());
    EXPECT_FALSE(examples.empty()) << file.path();
    for (const Json& example : examples) {
      EXPECT_EQ(made_by(example), "") << file.path() << ": " << dump_json(example);
      ++seen[example["name"].get<std::string>()];
    }
  }
  for (const auto list : {codec_list(), file_codec_list()})
    for (const CodecEntry& entry : list) EXPECT_TRUE(seen.contains(std::string(entry.name))) << entry.name;
}

TEST(Examples, NamesAndAliasesAreUnique) {
  std::map<std::string_view, int> names;
  std::map<std::string_view, int> ids;
  for (const CodecEntry& entry : codec_list()) {
    ++names[entry.name];
    for (const std::string_view alias : entry.aliases) ++names[alias];
    if (!entry.v2_id.empty()) ++ids[entry.v2_id];
  }
  for (const auto& [name, count] : names) EXPECT_EQ(count, 1) << name;
  for (const auto& [id, count] : ids) EXPECT_EQ(count, 1) << id;
}

}  // namespace
}  // namespace penstock
