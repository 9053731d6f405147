# oneTBB, built with the sanitizer: ThreadSanitizer does not see how an uninstrumented scheduler hands work from thread to
# thread, and then reports every task as a race.  The version is that of Debian 12.
include(FetchContent)
set(TBB_TEST OFF CACHE BOOL "" FORCE)
set(TBB_STRICT OFF CACHE BOOL "" FORCE)
set(TBBMALLOC_BUILD OFF CACHE BOOL "" FORCE)
set(TBB_SANITIZE thread CACHE STRING "" FORCE)
unset(TBB_DIR CACHE)  # set by an earlier find_package, it makes oneTBB look for itself
FetchContent_Declare(tbb SYSTEM
  URL http://deb.debian.org/debian/pool/main/o/onetbb/onetbb_2021.8.0.orig.tar.xz
  URL_HASH SHA256=7e9111b8bb59c8800bf6d0b06afe7b0891937443d2dae1ee1101c8e2ede6a7ef)
set(CMAKE_POLICY_VERSION_MINIMUM 3.5)  # oneTBB 2021.8 names one that CMake 4 no longer knows
FetchContent_MakeAvailable(tbb)
