#include "cli/kit/version.hpp"

namespace penstock::cli {

std::string_view version() { return PENSTOCK_VERSION; }
std::string_view commit() { return PENSTOCK_COMMIT; }

}  // namespace penstock::cli
