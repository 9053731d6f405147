// Text in HTML and XML.
#pragma once
#include <string>
#include <string_view>

namespace penstock {

/// As it stands between tags and in quoted attributes.
inline std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace penstock
