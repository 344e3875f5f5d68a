// NEON (AArch64) vectors: 4 lanes. The operations are described in scalar.h.
#pragma once

#include <arm_neon.h>

#include "simd/inline.h"

namespace dynaserve::simd {

struct Neon {
    static constexpr int lanes = 4;
    struct Float {
        float32x4_t v;
        DYNASERVE_FRIEND Float operator+(Float a, Float b) { return {vaddq_f32(a.v, b.v)}; }
        DYNASERVE_FRIEND Float operator-(Float a, Float b) { return {vsubq_f32(a.v, b.v)}; }
        DYNASERVE_FRIEND Float operator*(Float a, Float b) { return {vmulq_f32(a.v, b.v)}; }
        DYNASERVE_FRIEND Float operator/(Float a, Float b) { return {vdivq_f32(a.v, b.v)}; }
    };
    struct Word {
        uint32x4_t v;
        DYNASERVE_FRIEND Word operator+(Word a, Word b) { return {vaddq_u32(a.v, b.v)}; }
        DYNASERVE_FRIEND Word operator-(Word a, Word b) { return {vsubq_u32(a.v, b.v)}; }
        DYNASERVE_FRIEND Word operator&(Word a, Word b) { return {vandq_u32(a.v, b.v)}; }
        DYNASERVE_FRIEND Word operator^(Word a, Word b) { return {veorq_u32(a.v, b.v)}; }
    };
    struct Mask {
        uint32x4_t v;
        DYNASERVE_FRIEND Mask operator|(Mask a, Mask b) { return {vorrq_u32(a.v, b.v)}; }
    };

    DYNASERVE_INLINE Float broadcast(float x) { return {vdupq_n_f32(x)}; }
    DYNASERVE_INLINE Float load(const float* p) { return {vld1q_f32(p)}; }
    DYNASERVE_INLINE Float load_first(const float* p, int n, float rest) {
        float padded[4] = {rest, rest, rest, rest};
        for (int i = 0; i < n; ++i) padded[i] = p[i];
        return load(padded);
    }
    DYNASERVE_INLINE void store(float* p, Float x) { vst1q_f32(p, x.v); }
    DYNASERVE_INLINE void store_first(float* p, Float x, int n) {
        float padded[4];
        store(padded, x);
        for (int i = 0; i < n; ++i) p[i] = padded[i];
    }

    DYNASERVE_INLINE Float fma(Float a, Float b, Float c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
    // vmaxq would return NaN where the first argument alone is NaN.
    DYNASERVE_INLINE Float max(Float a, Float b) {
        return {vbslq_f32(vcgtq_f32(a.v, b.v), a.v, b.v)};
    }
    DYNASERVE_INLINE Float min(Float a, Float b) {
        return {vbslq_f32(vcltq_f32(a.v, b.v), a.v, b.v)};
    }
    DYNASERVE_INLINE Float sqrt(Float a) { return {vsqrtq_f32(a.v)}; }
    DYNASERVE_INLINE Float round(Float a) { return {vrndnq_f32(a.v)}; }
    DYNASERVE_INLINE Float scale(Float a, Float n) {
        const Float least = max(n, broadcast(-127));
        const int32x4_t exponent = vaddq_s32(vcvtq_s32_f32(least.v), vdupq_n_s32(127));
        return {vmulq_f32(a.v, vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23)))};
    }
    DYNASERVE_INLINE float reduce_add(Float a) { return vaddvq_f32(a.v); }
    DYNASERVE_INLINE float reduce_max(Float a) { return vmaxvq_f32(a.v); }

    DYNASERVE_INLINE Mask less(Float a, Float b) { return {vcltq_f32(a.v, b.v)}; }
    DYNASERVE_INLINE Mask equal(Float a, Float b) { return {vceqq_f32(a.v, b.v)}; }
    DYNASERVE_INLINE Mask not_less(Float a, Float b) { return {vmvnq_u32(vcltq_f32(a.v, b.v))}; }
    DYNASERVE_INLINE Mask top_bit(Word a) {
        return {vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_u32(a.v), 31))};
    }
    DYNASERVE_INLINE unsigned bits(Mask m) {
        const uint32x4_t weights = {1, 2, 4, 8};
        return vaddvq_u32(vandq_u32(m.v, weights));
    }
    DYNASERVE_INLINE Float select(Mask m, Float yes, Float no) {
        return {vbslq_f32(m.v, yes.v, no.v)};
    }
    DYNASERVE_INLINE Word select(Mask m, Word yes, Word no) {
        return {vbslq_u32(m.v, yes.v, no.v)};
    }

    DYNASERVE_INLINE Word broadcast_word(std::uint32_t x) { return {vdupq_n_u32(x)}; }
    DYNASERVE_INLINE Word load_words(const std::uint32_t* p) { return {vld1q_u32(p)}; }
    DYNASERVE_INLINE void store_words(std::uint32_t* p, Word x) { vst1q_u32(p, x.v); }
    template <int n>
    DYNASERVE_INLINE Word shift_left(Word a) {
        return {vshlq_n_u32(a.v, n)};
    }
    template <int n>
    DYNASERVE_INLINE Word shift_right(Word a) {
        return {vshrq_n_u32(a.v, n)};
    }
    template <int n>
    DYNASERVE_INLINE Word shift_right_signed(Word a) {
        return {vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_u32(a.v), n))};
    }
    DYNASERVE_INLINE Word xor3(Word a, Word b, Word c) { return a ^ b ^ c; }
    DYNASERVE_INLINE void multiply(Word a, Word b, Word& high, Word& low) {
        const uint32x4_t first =
            vreinterpretq_u32_u64(vmull_u32(vget_low_u32(a.v), vget_low_u32(b.v)));
        const uint32x4_t last = vreinterpretq_u32_u64(vmull_high_u32(a.v, b.v));
        high = {vuzp2q_u32(first, last)};
        low = {vuzp1q_u32(first, last)};
    }
    DYNASERVE_INLINE Float to_float(Word a) { return {vcvtq_f32_s32(vreinterpretq_s32_u32(a.v))}; }
    DYNASERVE_INLINE Word as_word(Float a) { return {vreinterpretq_u32_f32(a.v)}; }
    DYNASERVE_INLINE Float as_float(Word a) { return {vreinterpretq_f32_u32(a.v)}; }

    DYNASERVE_INLINE Word block_of_lane() {
        const uint32x4_t lane = {0, 1, 2, 3};
        return {lane};
    }
    DYNASERVE_INLINE void transpose4(Float (&x)[4]) {
        const float64x2_t ab_low = vreinterpretq_f64_f32(vzip1q_f32(x[0].v, x[1].v));
        const float64x2_t ab_high = vreinterpretq_f64_f32(vzip2q_f32(x[0].v, x[1].v));
        const float64x2_t cd_low = vreinterpretq_f64_f32(vzip1q_f32(x[2].v, x[3].v));
        const float64x2_t cd_high = vreinterpretq_f64_f32(vzip2q_f32(x[2].v, x[3].v));
        x[0] = {vreinterpretq_f32_f64(vzip1q_f64(ab_low, cd_low))};
        x[1] = {vreinterpretq_f32_f64(vzip2q_f64(ab_low, cd_low))};
        x[2] = {vreinterpretq_f32_f64(vzip1q_f64(ab_high, cd_high))};
        x[3] = {vreinterpretq_f32_f64(vzip2q_f64(ab_high, cd_high))};
    }
    DYNASERVE_INLINE void load_columns(const float* rows, std::ptrdiff_t stride, Float (&x)[4]) {
        for (int i = 0; i < 4; ++i) x[i] = load(rows + i * stride);
        transpose4(x);
    }
    DYNASERVE_INLINE void store_columns(float* rows, std::ptrdiff_t stride, Float (&x)[4]) {
        transpose4(x);
        for (int i = 0; i < 4; ++i) store(rows + i * stride, x[i]);
    }
};

}  // namespace dynaserve::simd
