// Functions that are compiled twice.
#pragma once

// For the vectors of AVX-512 and AVX2 too, without their fused multiplication: the bits are the same.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define PENSTOCK_CLONES __attribute__((flatten, target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define PENSTOCK_CLONES
#endif
