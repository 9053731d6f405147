#include "core/suggest.hpp"

#include <algorithm>
#include <vector>

namespace penstock {

// Optimal string alignment: https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above[b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  std::optional<std::string> best;
  // Not more than a third of the letters, and not all of them.
  std::size_t least = std::min(std::max<std::size_t>(1, word.size() / 3) + 1, word.size());
  for (const std::string& candidate : known) {
    std::size_t d = edit_distance(word, candidate);
    if (!word.empty() && candidate.starts_with(word)) d = std::min<std::size_t>(d, 1);
    if (d < least) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const auto near = nearest(word, known);
  return near ? " Did you mean " + *near + "?" : std::string();
}

}  // namespace penstock
