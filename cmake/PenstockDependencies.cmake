# Libraries; docs/dependencies.md says what each is for.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(TBB REQUIRED)
find_package(ZLIB REQUIRED)
find_package(BZip2 REQUIRED)
find_package(LibLZMA REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(BLOSC REQUIRED IMPORTED_TARGET blosc)
# zfp's own CMake file asks for OpenMP and the C language, which nothing here needs.
find_path(ZFP_INCLUDE_DIR zfp.h REQUIRED)
find_library(ZFP_LIBRARY zfp REQUIRED)
add_library(zfp::zfp UNKNOWN IMPORTED)
set_target_properties(zfp::zfp PROPERTIES
  IMPORTED_LOCATION ${ZFP_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ZFP_INCLUDE_DIR})
