// What was measured against a limit, so that a page can say first what needs a look.
#pragma once
#include <string>
#include <vector>

namespace penstock::oct {

/// One value that should not pass a limit.
struct Check {
  std::string where;  ///< "slice 3", "slices 0 and 1"
  std::string what;   ///< "worst seam"
  double value = 0;   ///< what is no number has passed the limit
  double limit = 0;
  std::string unit;     ///< empty where there is none
  std::string section;  ///< heading of the page under which more is said
  [[nodiscard]] bool good() const { return value <= limit; }
};

inline std::string verdict(bool good) { return good ? "good" : "bad"; }

/// "slice 3: worst seam 4.2, at most 2".
std::string to_text(const Check& check);

}  // namespace penstock::oct
