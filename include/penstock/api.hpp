// What the library shows to programs that link it; everything else is hidden.
#pragma once

#define PENSTOCK_API __attribute__((visibility("default")))
