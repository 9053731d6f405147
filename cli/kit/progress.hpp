// Progress of long work on standard error: a bar on a terminal, a line now and then in a log.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "penstock/control.hpp"

namespace penstock::cli {

/// Decides what is shown when; pure, so that it can be tested without waiting.
class ProgressView {
 public:
  using Clock = std::chrono::steady_clock;
  struct Style {
    bool terminal = false;
    bool color = false;
    bool utf8 = false;
    std::size_t width = 80;
  };
  ProgressView(Style style, Clock::time_point start)
      : style_(style), start_(start), last_(start), part_start_(start), told_(start) {}
  /// What to write to standard error for a state of the work at a time; empty: nothing now.  A terminal gets a bar
  /// after one second; a log gets a line after five seconds and every five seconds from then on.
  std::string update(const Progress& state, Clock::time_point now);
  /// What to write before anything else is printed (wipes the bar).
  std::string finish();

 private:
  [[nodiscard]] std::string bar(const Progress& state, double seconds) const;
  Style style_;
  Clock::time_point start_, last_;
  Clock::time_point part_start_, told_;  // of the part of the work that is told of; when anything was told
  std::string what_;
  std::uint64_t done_ = 0;
  bool drawn_ = false;
};

/// A ProgressFn that writes to standard error.
ProgressFn progress_to_stderr();
/// Wipes the bar, if one is drawn.  Call when the work is done, also when it failed.
void progress_done();

}  // namespace penstock::cli
