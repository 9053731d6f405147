// Functions that are compiled twice.
#pragma once

// For the vectors of AVX2 too, without its fused multiplication: the bits are the same.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define PENSTOCK_CLONES __attribute__((flatten, target_clones("avx2", "default")))
#else
#define PENSTOCK_CLONES
#endif
