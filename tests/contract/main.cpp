// The contract harness: every codec and operator on every backend against what all must keep.
//   penstock_contract test [NAME]    round trips, truncations, flipped bits; exit status 1 when one fails
//   penstock_contract perf [NAME]    decode and encode speed of one thread, bytes checked
//   penstock_contract support [FILE] prints docs/support.md, or compares it with FILE
//   penstock_contract list           the cases
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "contract/modes.hpp"

int main(int argc, char** argv) {
  using namespace penstock::contract;
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const std::string_view name = argc > 2 ? argv[2] : "";
  if (mode == "test") return run_tests(name);
  if (mode == "perf") return run_perf(name);
  if (mode == "support") return print_support(argc > 2 ? argv[2] : nullptr);
  if (mode == "list") return print_list();
  fmt::print(stderr, "usage: penstock_contract test|perf|support|list [NAME]\n");
  return 64;
}
