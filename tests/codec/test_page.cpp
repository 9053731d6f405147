// docs/reference/codecs.md says what the program does: each codec in a row of its own, each refused name refused.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "codec/list.hpp"
#include "codec/refused.hpp"

namespace penstock {
namespace {

std::string page() {
  std::ifstream file(PENSTOCK_SOURCE_DIR "/docs/reference/codecs.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The names in `backticks` of a text.
std::vector<std::string> names_in(const std::string& text) {
  static const std::regex name("`([^`]+)`");
  std::vector<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) names.push_back((*it)[1]);
  return names;
}

/// The cells of each row whose first cell begins with a name in backticks, first cell first.
std::vector<std::vector<std::string>> rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  static const std::regex row("(^|\n)\\| (`[^|]*)\\|([^|]*)\\|");
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it)
    rows.push_back({(*it)[2].str(), (*it)[3].str()});
  return rows;
}

/// The part of the page about the codecs that are there.
std::string codecs_part(const std::string& text) { return text.substr(0, text.find("Where penstock differs")); }

TEST(CodecsPage, HasEveryNameOfEveryCodec) {
  const auto all = rows(codecs_part(page()));
  for (const CodecEntry& entry : codec_list()) {
    std::vector<std::string> wanted{std::string(entry.name)};
    for (const std::string_view alias : entry.aliases) wanted.emplace_back(alias);
    std::vector<std::string> ids;
    if (!entry.v2_id.empty()) ids.emplace_back(entry.v2_id);
    bool found = false;
    for (const auto& row : all) found = found || (names_in(row[0]) == wanted && names_in(row[1]) == ids);
    EXPECT_TRUE(found) << entry.name << ": no row with just its names and its v2 id";
  }
  EXPECT_EQ(all.size(), codec_list().size());
}

TEST(CodecsPage, RefusesWhatItSaysIsRefused) {
  const std::string text = page();
  const auto refused = names_in(text.substr(text.find("Refused by name")));
  EXPECT_GE(refused.size(), 8u);
  for (std::string name : refused) {
    if (name.ends_with("*")) name.replace(name.size() - 1, 1, "any");
    EXPECT_EQ(find_codec(name), nullptr) << name;
    EXPECT_EQ(find_codec_v2(name), nullptr) << name;
    EXPECT_TRUE(refused_codec(name)) << name;
  }
}

}  // namespace
}  // namespace penstock
