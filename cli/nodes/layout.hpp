// How an array that a command writes lies in its store: --chunks, --shards, --codec.
#pragma once
#include <optional>
#include <string>

#include "cli/kit/usage.hpp"
#include "penstock/copy.hpp"

namespace penstock::cli {

/// "64,64,64" or "64x64x64"; one number stands for all dimensions.
Result<Shape> parse_shape(const std::string& text, std::size_t rank);

struct LayoutWords {
  std::optional<std::string> chunks, shards, codec;
  void declare(Usage& usage);
  /// Errors: invalid_argument naming the option.
  [[nodiscard]] Status put_into(CopyChanges& changes, const Dataset& dataset) const;
};

}  // namespace penstock::cli
