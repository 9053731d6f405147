# Libraries; docs/dependencies.md says what each is for.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
if(PENSTOCK_SANITIZE STREQUAL "thread")
  include(FetchTbb)
else()
  find_package(TBB REQUIRED)
endif()
find_package(ZLIB REQUIRED)
find_package(BZip2 REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(CURL 7.85 REQUIRED)  # CURLOPT_PROTOCOLS_STR
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(EXPAT REQUIRED)
find_package(JPEG REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(BLOSC REQUIRED IMPORTED_TARGET blosc)
find_path(TOML_INCLUDE_DIR toml++/toml.h REQUIRED)  # used as headers only
# zfp's own CMake file asks for OpenMP and the C language, which nothing here needs.
find_path(ZFP_INCLUDE_DIR zfp.h REQUIRED)
find_library(ZFP_LIBRARY zfp REQUIRED)
add_library(zfp::zfp UNKNOWN IMPORTED)
set_target_properties(zfp::zfp PROPERTIES
  IMPORTED_LOCATION ${ZFP_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ZFP_INCLUDE_DIR})
