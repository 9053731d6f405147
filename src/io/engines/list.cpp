#include <array>

#include "io/engine.hpp"

namespace penstock::io {

// The engines, one line for each, in the order of preference.  The last serves every file.
std::span<const Engine> engines() {
  static const std::array all{
      direct_engine(),
      buffered_engine(),
  };
  return all;
}

}  // namespace penstock::io
