// AVX2 with FMA vectors: 8 lanes. The operations are described in scalar.h.
#pragma once

#include <immintrin.h>

#include "simd/inline.h"

namespace dynaserve::simd {

struct Avx2 {
    static constexpr int lanes = 8;
    struct Float {
        __m256 v;
        DYNASERVE_FRIEND Float operator+(Float a, Float b) { return {_mm256_add_ps(a.v, b.v)}; }
        DYNASERVE_FRIEND Float operator-(Float a, Float b) { return {_mm256_sub_ps(a.v, b.v)}; }
        DYNASERVE_FRIEND Float operator*(Float a, Float b) { return {_mm256_mul_ps(a.v, b.v)}; }
        DYNASERVE_FRIEND Float operator/(Float a, Float b) { return {_mm256_div_ps(a.v, b.v)}; }
    };
    struct Word {
        __m256i v;
        DYNASERVE_FRIEND Word operator+(Word a, Word b) { return {_mm256_add_epi32(a.v, b.v)}; }
        DYNASERVE_FRIEND Word operator-(Word a, Word b) { return {_mm256_sub_epi32(a.v, b.v)}; }
        DYNASERVE_FRIEND Word operator&(Word a, Word b) { return {_mm256_and_si256(a.v, b.v)}; }
        DYNASERVE_FRIEND Word operator^(Word a, Word b) { return {_mm256_xor_si256(a.v, b.v)}; }
    };
    struct Mask {
        __m256 v;
        DYNASERVE_FRIEND Mask operator|(Mask a, Mask b) { return {_mm256_or_ps(a.v, b.v)}; }
    };

    DYNASERVE_INLINE Float broadcast(float x) { return {_mm256_set1_ps(x)}; }
    DYNASERVE_INLINE Float load(const float* p) { return {_mm256_loadu_ps(p)}; }
    DYNASERVE_INLINE Float load_first(const float* p, int n, float rest) {
        const __m256i mask = first(n);
        return {_mm256_blendv_ps(_mm256_set1_ps(rest), _mm256_maskload_ps(p, mask),
                                 _mm256_castsi256_ps(mask))};
    }
    DYNASERVE_INLINE void store(float* p, Float x) { _mm256_storeu_ps(p, x.v); }
    DYNASERVE_INLINE void store_first(float* p, Float x, int n) {
        _mm256_maskstore_ps(p, first(n), x.v);
    }

    DYNASERVE_INLINE Float fma(Float a, Float b, Float c) {
        return {_mm256_fmadd_ps(a.v, b.v, c.v)};
    }
    DYNASERVE_INLINE Float max(Float a, Float b) { return {_mm256_max_ps(a.v, b.v)}; }
    DYNASERVE_INLINE Float min(Float a, Float b) { return {_mm256_min_ps(a.v, b.v)}; }
    DYNASERVE_INLINE Float sqrt(Float a) { return {_mm256_sqrt_ps(a.v)}; }
    DYNASERVE_INLINE Float round(Float a) {
        return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
    }
    DYNASERVE_INLINE Float scale(Float a, Float n) {
        const Float least = max(n, broadcast(-127));
        const __m256i exponent =
            _mm256_add_epi32(_mm256_cvtps_epi32(least.v), _mm256_set1_epi32(127));
        return {_mm256_mul_ps(a.v, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)))};
    }
    DYNASERVE_INLINE float reduce_add(Float a) {
        __m128 x = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
        x = _mm_add_ps(x, _mm_movehl_ps(x, x));
        return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
    }
    DYNASERVE_INLINE float reduce_max(Float a) {
        __m128 x = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
        x = _mm_max_ps(x, _mm_movehl_ps(x, x));
        return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
    }

    DYNASERVE_INLINE Mask less(Float a, Float b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
    DYNASERVE_INLINE Mask equal(Float a, Float b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)}; }
    DYNASERVE_INLINE Mask not_less(Float a, Float b) {
        return {_mm256_cmp_ps(a.v, b.v, _CMP_NLT_UQ)};
    }
    // Only the top bit of each lane of a Mask is ever read, by blendv and movemask.
    DYNASERVE_INLINE Mask top_bit(Word a) { return {_mm256_castsi256_ps(a.v)}; }
    DYNASERVE_INLINE unsigned bits(Mask m) {
        return static_cast<unsigned>(_mm256_movemask_ps(m.v));
    }
    DYNASERVE_INLINE Float select(Mask m, Float yes, Float no) {
        return {_mm256_blendv_ps(no.v, yes.v, m.v)};
    }
    DYNASERVE_INLINE Word select(Mask m, Word yes, Word no) {
        return {_mm256_castps_si256(
            _mm256_blendv_ps(_mm256_castsi256_ps(no.v), _mm256_castsi256_ps(yes.v), m.v))};
    }

    DYNASERVE_INLINE Word broadcast_word(std::uint32_t x) {
        return {_mm256_set1_epi32(static_cast<int>(x))};
    }
    DYNASERVE_INLINE Word load_words(const std::uint32_t* p) {
        return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
    }
    DYNASERVE_INLINE void store_words(std::uint32_t* p, Word x) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.v);
    }
    template <int n>
    DYNASERVE_INLINE Word shift_left(Word a) {
        return {_mm256_slli_epi32(a.v, n)};
    }
    template <int n>
    DYNASERVE_INLINE Word shift_right(Word a) {
        return {_mm256_srli_epi32(a.v, n)};
    }
    template <int n>
    DYNASERVE_INLINE Word shift_right_signed(Word a) {
        return {_mm256_srai_epi32(a.v, n)};
    }
    DYNASERVE_INLINE Word xor3(Word a, Word b, Word c) { return a ^ b ^ c; }
    DYNASERVE_INLINE void multiply(Word a, Word b, Word& high, Word& low) {
        const __m256i even = _mm256_mul_epu32(a.v, b.v);
        const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a.v, 32), b.v);
        high = {_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA)};
        low = {_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA)};
    }
    DYNASERVE_INLINE Float to_float(Word a) { return {_mm256_cvtepi32_ps(a.v)}; }
    DYNASERVE_INLINE Word as_word(Float a) { return {_mm256_castps_si256(a.v)}; }
    DYNASERVE_INLINE Float as_float(Word a) { return {_mm256_castsi256_ps(a.v)}; }

    DYNASERVE_INLINE Word block_of_lane() { return {_mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7)}; }
    DYNASERVE_INLINE void transpose4(Float (&x)[4]) {
        const __m256d ab_low = _mm256_castps_pd(_mm256_unpacklo_ps(x[0].v, x[1].v));
        const __m256d ab_high = _mm256_castps_pd(_mm256_unpackhi_ps(x[0].v, x[1].v));
        const __m256d cd_low = _mm256_castps_pd(_mm256_unpacklo_ps(x[2].v, x[3].v));
        const __m256d cd_high = _mm256_castps_pd(_mm256_unpackhi_ps(x[2].v, x[3].v));
        x[0] = {_mm256_castpd_ps(_mm256_unpacklo_pd(ab_low, cd_low))};
        x[1] = {_mm256_castpd_ps(_mm256_unpackhi_pd(ab_low, cd_low))};
        x[2] = {_mm256_castpd_ps(_mm256_unpacklo_pd(ab_high, cd_high))};
        x[3] = {_mm256_castpd_ps(_mm256_unpackhi_pd(ab_high, cd_high))};
    }
    DYNASERVE_INLINE void load_columns(const float* rows, std::ptrdiff_t stride, Float (&x)[4]) {
        for (int i = 0; i < 4; ++i) {
            const float* p = rows + i * stride;
            x[i] = {_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)),
                                         _mm_loadu_ps(p + 4 * stride), 1)};
        }
        transpose4(x);
    }
    DYNASERVE_INLINE void store_columns(float* rows, std::ptrdiff_t stride, Float (&x)[4]) {
        transpose4(x);
        for (int i = 0; i < 4; ++i) {
            float* p = rows + i * stride;
            _mm_storeu_ps(p, _mm256_castps256_ps128(x[i].v));
            _mm_storeu_ps(p + 4 * stride, _mm256_extractf128_ps(x[i].v, 1));
        }
    }

  private:
    DYNASERVE_INLINE __m256i first(int n) {
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
};

}  // namespace dynaserve::simd
