// Images that are written beside what is read: replacing one must not take its own input away.
#pragma once
#include <string>

#include "penstock/error.hpp"

namespace penstock::oct {

/// Whether two paths lead to one place, however they are written: by "./", "//", ".." or symbolic links.
bool is_same_place(const std::string& a, const std::string& b);

/// An error where `out`, the image NAME.zarr that is to be written, is the input `in`, holds it, or lies in the image
/// that it is: --force would erase what is to be read.
Status check_apart(const std::string& out, const std::string& in);

}  // namespace penstock::oct
