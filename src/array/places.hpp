// Where nodes are, so that nothing is written over what it is made of.
#pragma once
#include <string>
#include <string_view>

#include "penstock/store.hpp"

namespace penstock {

/// Where a node is, the same however its store was opened, as far as the file system tells.
std::string place_of(const Store& store, std::string_view path);

enum class Places { apart, same, nested };
/// How two nodes lie to each other; `nested`: one is inside the other.
Places compare_places(const Store& a, std::string_view a_path, const Store& b, std::string_view b_path);

}  // namespace penstock
