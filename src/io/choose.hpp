// Which engine a request takes, and why.
#pragma once
#include <string>

#include "io/engine.hpp"

namespace penstock::io {

struct Choice {
  const Engine* engine = nullptr;
  Offer offer;
  std::string why;
};

/// Errors: unsupported (the engine that was asked for by name does not serve the file; says why).
Result<Choice> choose(OpenFile& file, Direction direction, std::uint64_t offset, std::uint64_t bytes);

}  // namespace penstock::io
