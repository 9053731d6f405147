# A relocatable tree: bin/, lib/ (own and third-party libraries side by side, found through $ORIGIN), include/.
include(GNUInstallDirs)
set_target_properties(penstock_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
# DT_RPATH, not DT_RUNPATH: what the third-party libraries need (c-blosc: snappy) is looked up here too.
target_link_options(penstock_shared PRIVATE LINKER:--disable-new-dtags)
install(TARGETS penstock_shared RUNTIME_DEPENDENCY_SET penstock_deps LIBRARY DESTINATION lib)
install(DIRECTORY include/penstock DESTINATION include)
# Everything but what any Linux has: the C library, and the compiler's run-time libraries.
install(RUNTIME_DEPENDENCY_SET penstock_deps
  PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+|resolv)\\.so" "^ld-linux" "libcuda\\.so"
  POST_EXCLUDE_REGEXES "/lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+|resolv)\\.so"
  LIBRARY DESTINATION lib)
