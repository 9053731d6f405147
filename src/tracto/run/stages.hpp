// The stages of a run, for its report.
#pragma once
#include <chrono>
#include <string>

#include "penstock/report.hpp"

namespace penstock::tracto {

/// Seconds since it was made, or since the last call.
class Lap {
 public:
  double seconds() {
    const auto now = std::chrono::steady_clock::now();
    const double s = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return s;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Notes each stage with the time since the one before.
class Stages {
 public:
  explicit Stages(Report& report) : report_(report) {}
  void add(std::string name, std::string path, std::string why, std::uint64_t bytes) {
    report_.stages.push_back({std::move(name), std::move(path), std::move(why), bytes, lap_.seconds()});
  }
  /// From now on.
  void restart() { lap_.seconds(); }

 private:
  Report& report_;
  Lap lap_;
};

}  // namespace penstock::tracto
