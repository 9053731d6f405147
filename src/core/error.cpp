#include "penstock/error.hpp"

#include <array>

#include "penstock/store_options.hpp"

namespace penstock {
namespace {

struct Row {
  std::string_view name, meaning, python;
  int exit_code;
};
constexpr Row kRows[] = {
#define PENSTOCK_ERROR(name, meaning, python, exit_code) {#name, meaning, python, exit_code},
#include "penstock/error_codes.def"
#undef PENSTOCK_ERROR
};
const Row& row(ErrorCode code) { return kRows[static_cast<std::size_t>(code)]; }

}  // namespace

std::string_view error_name(ErrorCode code) { return row(code).name; }
std::string_view error_meaning(ErrorCode code) { return row(code).meaning; }
std::string_view error_python_type(ErrorCode code) { return row(code).python; }
int error_exit_code(ErrorCode code) { return row(code).exit_code; }

Error& Error::add_context(std::string_view where) {
  message_.insert(0, ": ").insert(0, redacted(where));
  return *this;
}

}  // namespace penstock
