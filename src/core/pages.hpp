// Pages of memory that is written for the first time.
#pragma once
#include "penstock/bytes.hpp"

namespace penstock {

/// Has the system make the pages of memory that is about to be written, all in one call: one by one, as each is
/// touched, they cost half as much again.  What cannot be made so is made as it is touched.
void make_pages(ByteSpan memory);

}  // namespace penstock
