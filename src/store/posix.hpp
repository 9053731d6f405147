// Files by their descriptor, as stores name them.
#pragma once
#include "io/posix.hpp"
