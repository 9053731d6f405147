// Pictures: PNG, grey, 16 bits.  https://www.w3.org/TR/png-3/
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "penstock/error.hpp"

namespace penstock::oct {

/// `values`: row by row, `width` in each.  Errors: out_of_memory.
Result<std::string> png_text(std::uint32_t width, std::uint32_t height, std::span<const std::uint16_t> values);

}  // namespace penstock::oct
