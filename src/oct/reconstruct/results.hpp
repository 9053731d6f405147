// What a reconstruction has made in its folder: names, what says that it is complete, and how it is forgotten.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oct/graph.hpp"

namespace penstock::oct {

class RunResults {
 public:
  /// `slices`: ascending.
  RunResults(std::string folder, std::vector<std::uint64_t> slices)
      : folder_(std::move(folder)), slices_(std::move(slices)) {}

  [[nodiscard]] std::string settings() const { return folder_ + "/reconstruct.json"; }
  /// A name of a SliceStep: "zNN" becomes the slice.
  [[nodiscard]] std::string of_slice(std::string_view name, std::uint64_t slice) const;
  [[nodiscard]] std::string common(std::uint64_t slice) const;
  [[nodiscard]] std::string volume() const;
  [[nodiscard]] std::string report() const { return folder_ + "/report.html"; }

  /// Whether a step has ended: its result stands, and its metrics, which are written after it where it writes any.
  [[nodiscard]] Result<bool> complete(const std::string& result, const std::string& metrics) const;
  /// Errors: already_exists (results, though the folder has no settings: somebody else's).
  [[nodiscard]] Status check_empty() const;
  /// Images in the folder that `common-space` and `stack` would take, of other slices than those of this run; by slice.
  [[nodiscard]] Result<std::multimap<std::uint64_t, std::string>> other_slices() const;
  [[nodiscard]] Status erase_other_slices() const;

  /// What these steps made of a slice, and all that was made of it.
  [[nodiscard]] Status forget_slice(std::uint64_t slice, std::span<const SliceStep> steps) const;
  /// The slices at their place, and all that was made of them.
  [[nodiscard]] Status forget_common() const;
  [[nodiscard]] Status forget_volume() const;
  [[nodiscard]] Status forget_report() const;

 private:
  std::string folder_;
  std::vector<std::uint64_t> slices_;
};

}  // namespace penstock::oct
