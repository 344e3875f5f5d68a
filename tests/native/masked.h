// Forced into every file of the sanitizer build. AddressSanitizer does not look into the masked
// loads and stores of AVX2 and AVX-512, so these touch, where it does look, each float that they
// would touch. Every masked intrinsic that csrc/simd uses must be named here.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

static inline void dynaserve_touch(const float* p, unsigned lanes) {
    for (int i = 0; lanes >> i != 0; ++i) {
        if (lanes >> i & 1) (void)*static_cast<const volatile float*>(p + i);
    }
}

#define DYNASERVE_LANES(mask) static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(mask)))

#define _mm256_maskload_ps(p, mask) \
    (dynaserve_touch(p, DYNASERVE_LANES(mask)), _mm256_maskload_ps(p, mask))
#define _mm256_maskstore_ps(p, mask, x) \
    (dynaserve_touch(p, DYNASERVE_LANES(mask)), _mm256_maskstore_ps(p, mask, x))
#define _mm512_mask_loadu_ps(rest, mask, p) \
    (dynaserve_touch(p, mask), _mm512_mask_loadu_ps(rest, mask, p))
#define _mm512_mask_storeu_ps(p, mask, x) \
    (dynaserve_touch(p, mask), _mm512_mask_storeu_ps(p, mask, x))
#endif
