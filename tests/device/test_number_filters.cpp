// The filters of numbers for devices, on the host, against the CPU's codecs.
#include "device/number_filters.hpp"

using namespace penstock;

TEST(NumberFilters, EveryCastHasTheBitsOfTheCpu) { test::expect_all_casts({}); }
TEST(NumberFilters, EveryScaledPairHasTheBitsOfTheCpu) { test::expect_all_scaled({}); }
