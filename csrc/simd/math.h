// exp, log, sin and cos over any vector type V of this folder.
//
// Maximum error, in units in the last place of float32:
//
//                                                     with fma   scalar
//   exp(x), 2^24 values over [-87.3, 0]                 0.901     1.176
//   log(x), x = n 2^-24, n = 1 .. 2^24                  1.968     2.052
//   sin, cos of 2 pi r 2^-32, r = 0 .. 2^32 - 1         2.371     2.371
//
// `make accuracy` prints the table and tests/core/test_elementary.py holds every
// build to it. The polynomials are minimax fits, rounded to float32 one coefficient at a time
// with the rest fitted again after each; their own error is 3e-9 (exp), 3e-8 (log) and 4e-8
// (sin, cos) relative. The reductions are Cody and Waite's.
#pragma once

#include "simd/inline.h"

namespace dynaserve::simd {

// c[0] + c[1] x + ... by Horner's rule.
template <class V, int n>
DYNASERVE_INLINE typename V::Float polynomial(typename V::Float x, const float (&c)[n]) {
    typename V::Float sum = V::broadcast(c[n - 1]);
    for (int i = n - 2; i >= 0; --i) sum = V::fma(sum, x, V::broadcast(c[i]));
    return sum;
}

// e^x for x <= 0; exactly 0 at -infinity and exactly 1 at 0; NaN stays NaN.
template <class V>
DYNASERVE_INLINE typename V::Float exp(typename V::Float x) {
    using Float = typename V::Float;
    constexpr float taylor[] = {1.0f,           1.0f,           0x1.fffffcp-2f, 0x1.555492p-3f,
                                0x1.5558b0p-5f, 0x1.12399cp-7f, 0x1.6a4ecep-10f};
    x = V::max(V::broadcast(-110.0f), x);
    const Float n = V::round(x * V::broadcast(1.44269504f));  // x = n log 2 + r
    Float r = V::fma(n, V::broadcast(-0.693359375f), x);      // log 2, its first 12 bits
    r = V::fma(n, V::broadcast(2.12194440e-4f), r);           // and the rest
    return V::scale(polynomial<V>(r, taylor), n);
}

// Natural logarithm of a normal x > 0.
template <class V>
DYNASERVE_INLINE typename V::Float log(typename V::Float x) {
    using Float = typename V::Float;
    using Word = typename V::Word;
    constexpr float series[] = {1.0f,           -0.5f,           0x1.5556dap-2f, -0x1.000386p-2f,
                                0x1.98d788p-3f, -0x1.5380c0p-3f, 0x1.3177aap-3f, -0x1.24417cp-3f,
                                0x1.64719ep-4f};
    // x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2))
    const Word bits = V::as_word(x);
    const Word e = V::template shift_right_signed<23>(bits - V::broadcast_word(0x3f3504f3));
    const Float f = V::as_float(bits - V::template shift_left<23>(e)) - V::broadcast(1.0f);
    const Float power = V::to_float(e);
    const Float tail = V::fma(power, V::broadcast(-2.12194440e-4f), f * polynomial<V>(f, series));
    return V::fma(power, V::broadcast(0.693359375f), tail);
}

// sin and cos of 2 pi r / 2^32, the angle of a random word.
template <class V>
DYNASERVE_INLINE void sincos_turn(typename V::Word r, typename V::Float& sin,
                                  typename V::Float& cos) {
    using Float = typename V::Float;
    using Word = typename V::Word;
    constexpr float odd[] = {0x1.921fb6p+0f, -0x1.4abc24p-1f, 0x1.46809cp-4f, -0x1.3316c4p-8f};
    constexpr float even[] = {1.0f, -0x1.3bd39cp+0f, 0x1.03b058p-2f, -0x1.4e78bep-6f};
    // r is the nearest multiple of a quarter turn plus t quarter turns, |t| <= 1/2
    const Float t = V::to_float(V::template shift_left<2>(r)) * V::broadcast(0x1p-32f);
    const Float square = t * t;
    const Float s = t * polynomial<V>(square, odd);
    const Float c = polynomial<V>(square, even);
    const Word quarter = r + V::broadcast_word(0x20000000);  // bits 31 and 30 count the quarters
    const Word next = V::template shift_left<1>(quarter);
    const Word sign = V::broadcast_word(0x80000000);
    const typename V::Mask swap = V::top_bit(next);
    sin = V::as_float(V::as_word(V::select(swap, c, s)) ^ (quarter & sign));
    cos = V::as_float(V::as_word(V::select(swap, s, c)) ^ ((quarter ^ next) & sign));
}

}  // namespace dynaserve::simd
