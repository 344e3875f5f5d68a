// AVX-512 (F, BW, DQ, VL) vectors: 16 lanes. The operations are described in scalar.h.
#pragma once

#include <immintrin.h>

#include "simd/inline.h"

namespace dynaserve::simd {

struct Avx512 {
    static constexpr int lanes = 16;
    struct Float {
        __m512 v;
        DYNASERVE_FRIEND Float operator+(Float a, Float b) { return {_mm512_add_ps(a.v, b.v)}; }
        DYNASERVE_FRIEND Float operator-(Float a, Float b) { return {_mm512_sub_ps(a.v, b.v)}; }
        DYNASERVE_FRIEND Float operator*(Float a, Float b) { return {_mm512_mul_ps(a.v, b.v)}; }
        DYNASERVE_FRIEND Float operator/(Float a, Float b) { return {_mm512_div_ps(a.v, b.v)}; }
    };
    struct Word {
        __m512i v;
        DYNASERVE_FRIEND Word operator+(Word a, Word b) { return {_mm512_add_epi32(a.v, b.v)}; }
        DYNASERVE_FRIEND Word operator-(Word a, Word b) { return {_mm512_sub_epi32(a.v, b.v)}; }
        DYNASERVE_FRIEND Word operator&(Word a, Word b) { return {_mm512_and_si512(a.v, b.v)}; }
        DYNASERVE_FRIEND Word operator^(Word a, Word b) { return {_mm512_xor_si512(a.v, b.v)}; }
    };
    struct Mask {
        __mmask16 v;
        DYNASERVE_FRIEND Mask operator|(Mask a, Mask b) { return {_kor_mask16(a.v, b.v)}; }
    };

    DYNASERVE_INLINE Float broadcast(float x) { return {_mm512_set1_ps(x)}; }
    DYNASERVE_INLINE Float load(const float* p) { return {_mm512_loadu_ps(p)}; }
    DYNASERVE_INLINE Float load_first(const float* p, int n, float rest) {
        return {_mm512_mask_loadu_ps(_mm512_set1_ps(rest), first(n), p)};
    }
    DYNASERVE_INLINE void store(float* p, Float x) { _mm512_storeu_ps(p, x.v); }
    DYNASERVE_INLINE void store_first(float* p, Float x, int n) {
        _mm512_mask_storeu_ps(p, first(n), x.v);
    }

    DYNASERVE_INLINE Float fma(Float a, Float b, Float c) {
        return {_mm512_fmadd_ps(a.v, b.v, c.v)};
    }
    DYNASERVE_INLINE Float max(Float a, Float b) { return {_mm512_max_ps(a.v, b.v)}; }
    DYNASERVE_INLINE Float min(Float a, Float b) { return {_mm512_min_ps(a.v, b.v)}; }
    DYNASERVE_INLINE Float sqrt(Float a) { return {_mm512_sqrt_ps(a.v)}; }
    DYNASERVE_INLINE Float round(Float a) {
        return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
    }
    DYNASERVE_INLINE Float scale(Float a, Float n) { return {_mm512_scalef_ps(a.v, n.v)}; }
    DYNASERVE_INLINE float reduce_add(Float a) { return _mm512_reduce_add_ps(a.v); }
    DYNASERVE_INLINE float reduce_max(Float a) { return _mm512_reduce_max_ps(a.v); }

    DYNASERVE_INLINE Mask less(Float a, Float b) {
        return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)};
    }
    DYNASERVE_INLINE Mask equal(Float a, Float b) {
        return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)};
    }
    DYNASERVE_INLINE Mask not_less(Float a, Float b) {
        return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_NLT_UQ)};
    }
    DYNASERVE_INLINE Mask top_bit(Word a) { return {_mm512_movepi32_mask(a.v)}; }
    DYNASERVE_INLINE unsigned bits(Mask m) { return m.v; }
    DYNASERVE_INLINE Float select(Mask m, Float yes, Float no) {
        return {_mm512_mask_blend_ps(m.v, no.v, yes.v)};
    }
    DYNASERVE_INLINE Word select(Mask m, Word yes, Word no) {
        return {_mm512_mask_blend_epi32(m.v, no.v, yes.v)};
    }

    DYNASERVE_INLINE Word broadcast_word(std::uint32_t x) {
        return {_mm512_set1_epi32(static_cast<int>(x))};
    }
    DYNASERVE_INLINE Word load_words(const std::uint32_t* p) { return {_mm512_loadu_si512(p)}; }
    DYNASERVE_INLINE void store_words(std::uint32_t* p, Word x) { _mm512_storeu_si512(p, x.v); }
    template <int n>
    DYNASERVE_INLINE Word shift_left(Word a) {
        return {_mm512_slli_epi32(a.v, n)};
    }
    template <int n>
    DYNASERVE_INLINE Word shift_right(Word a) {
        return {_mm512_srli_epi32(a.v, n)};
    }
    template <int n>
    DYNASERVE_INLINE Word shift_right_signed(Word a) {
        return {_mm512_srai_epi32(a.v, n)};
    }
    DYNASERVE_INLINE Word xor3(Word a, Word b, Word c) {
        return {_mm512_ternarylogic_epi32(a.v, b.v, c.v, 0x96)};
    }
    DYNASERVE_INLINE void multiply(Word a, Word b, Word& high, Word& low) {
        const __m512i even = _mm512_mul_epu32(a.v, b.v);
        const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a.v, 32), b.v);
        high = {_mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_CDAB)};
        low = {_mm512_mask_shuffle_epi32(even, 0xAAAA, odd, _MM_PERM_CDAB)};
    }
    DYNASERVE_INLINE Float to_float(Word a) { return {_mm512_cvtepi32_ps(a.v)}; }
    DYNASERVE_INLINE Word as_word(Float a) { return {_mm512_castps_si512(a.v)}; }
    DYNASERVE_INLINE Float as_float(Word a) { return {_mm512_castsi512_ps(a.v)}; }

    DYNASERVE_INLINE Word block_of_lane() {
        return {_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)};
    }
    DYNASERVE_INLINE void transpose4(Float (&x)[4]) {
        const __m512d ab_low = _mm512_castps_pd(_mm512_unpacklo_ps(x[0].v, x[1].v));
        const __m512d ab_high = _mm512_castps_pd(_mm512_unpackhi_ps(x[0].v, x[1].v));
        const __m512d cd_low = _mm512_castps_pd(_mm512_unpacklo_ps(x[2].v, x[3].v));
        const __m512d cd_high = _mm512_castps_pd(_mm512_unpackhi_ps(x[2].v, x[3].v));
        x[0] = {_mm512_castpd_ps(_mm512_unpacklo_pd(ab_low, cd_low))};
        x[1] = {_mm512_castpd_ps(_mm512_unpackhi_pd(ab_low, cd_low))};
        x[2] = {_mm512_castpd_ps(_mm512_unpacklo_pd(ab_high, cd_high))};
        x[3] = {_mm512_castpd_ps(_mm512_unpackhi_pd(ab_high, cd_high))};
    }
    DYNASERVE_INLINE void load_columns(const float* rows, std::ptrdiff_t stride, Float (&x)[4]) {
        for (int i = 0; i < 4; ++i) {
            const float* p = rows + i * stride;
            __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(p));
            v = _mm512_insertf32x4(v, _mm_loadu_ps(p + 4 * stride), 1);
            v = _mm512_insertf32x4(v, _mm_loadu_ps(p + 8 * stride), 2);
            x[i] = {_mm512_insertf32x4(v, _mm_loadu_ps(p + 12 * stride), 3)};
        }
        transpose4(x);
    }
    DYNASERVE_INLINE void store_columns(float* rows, std::ptrdiff_t stride, Float (&x)[4]) {
        transpose4(x);
        for (int i = 0; i < 4; ++i) {
            float* p = rows + i * stride;
            _mm_storeu_ps(p, _mm512_castps512_ps128(x[i].v));
            _mm_storeu_ps(p + 4 * stride, _mm512_extractf32x4_ps(x[i].v, 1));
            _mm_storeu_ps(p + 8 * stride, _mm512_extractf32x4_ps(x[i].v, 2));
            _mm_storeu_ps(p + 12 * stride, _mm512_extractf32x4_ps(x[i].v, 3));
        }
    }

  private:
    DYNASERVE_INLINE __mmask16 first(int n) { return static_cast<__mmask16>((1u << n) - 1u); }
};

}  // namespace dynaserve::simd
