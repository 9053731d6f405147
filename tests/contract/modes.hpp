// The four modes of the harness; each returns the exit status.
#pragma once
#include <string_view>

namespace penstock::contract {

/// `name`: only cases whose label contains it.
int run_tests(std::string_view name);
int run_perf(std::string_view name);
/// `compare_with`: a file that must hold the same text; nullptr: print it.
int print_support(const char* compare_with);
int print_list();

}  // namespace penstock::contract
