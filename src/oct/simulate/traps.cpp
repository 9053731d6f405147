#include "oct/simulate/traps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/suggest.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kShallow = 18;  // planes that a shallow slice lacks

SubjectSlice& second(Subject& subject) { return subject.slices[std::min<std::size_t>(1, subject.slices.size() - 1)]; }

}  // namespace

std::span<const Trap> traps() {
  static constexpr Trap list[] = {
      {"zoom-edge", "tiles of 22 pixels, which corner-aligned resizing to 20 loses the last row of",
       [](SubjectSize& size) { size.tile = 22, size.n_extra = 6; }, nullptr},
      {"odd", "odd numbers of pixels and planes, which no pyramid halves evenly",
       [](SubjectSize& size) { size.tile += 1, size.planes += 1; }, nullptr},
      {"one-row", "one row of tiles: no overlap says what a step along rows would be",
       [](SubjectSize& size) { size.rows = 1; }, nullptr},
      {"empty-tile", "a tile of each slice holds nothing but zeros", nullptr, [](Subject& s) { s.empty_tile = true; }},
      {"nan", "an A-line of a tile of each slice is NaN", nullptr, [](Subject& s) { s.no_numbers = true; }},
      {"saturated", "a voxel of a tile of each slice is as bright as can be", nullptr,
       [](Subject& s) { s.saturated = true; }},
      {"agarose", "the second slice has no tissue", nullptr, [](Subject& s) { second(s).agarose = true; }},
      {"surface-first", "the tissue of the second slice begins at the first plane, without water above", nullptr,
       [](Subject& s) {
         SubjectSlice& slice = second(s);
         slice.surface = -0.5, slice.tilt_row = 0, slice.tilt_col = 0;
       }},
      {"surface-last", "the tissue of the second slice begins at the last plane", nullptr,
       [](Subject& s) {
         SubjectSlice& slice = second(s);
         slice.surface = static_cast<double>(slice.planes) - 1;
       }},
      {"shallow", "the second slice has fewer planes than the others", nullptr,
       [](Subject& s) { second(s).planes -= kShallow; }},
      {"missing-slice", "the second slice is missing, and shifts lead past it", nullptr,
       [](Subject& s) { second(s).missing = true; }},
  };
  return list;
}

Result<Subject> make_subject(SubjectSize size, std::uint64_t seed, std::string_view names) {
  std::vector<const Trap*> chosen;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    const auto all = traps();
    const auto it = std::ranges::find(all, name, &Trap::name);
    if (it == all.end()) {
      std::vector<std::string> known;
      for (const Trap& trap : all) known.emplace_back(trap.name);
      return Error(ErrorCode::invalid_argument, fmt::format("traps: no such trap '{}'.{} Known: {}.", name,
                                                            did_you_mean(name, known), fmt::join(known, ", ")));
    }
    chosen.push_back(&*it);
  }
  for (const Trap* trap : chosen)
    if (trap->of_size != nullptr) trap->of_size(size);
  Subject subject = Subject::make(size, seed);
  for (const Trap* trap : chosen) {
    if (trap->of_subject != nullptr) trap->of_subject(subject);
    subject.traps.emplace_back(trap->name);
  }
  return subject;
}

}  // namespace penstock::oct
