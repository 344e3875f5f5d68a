// One lane in plain C++: the set that runs everywhere, and the description of what every other
// set offers. Float, Word (uint32) and Mask hold `lanes` values each.
#pragma once

#include <cmath>

#include "simd/inline.h"

namespace dynaserve::simd {

struct Scalar {
    static constexpr int lanes = 1;
    struct Float {
        float v;
        DYNASERVE_FRIEND Float operator+(Float a, Float b) { return {a.v + b.v}; }
        DYNASERVE_FRIEND Float operator-(Float a, Float b) { return {a.v - b.v}; }
        DYNASERVE_FRIEND Float operator*(Float a, Float b) { return {a.v * b.v}; }
        DYNASERVE_FRIEND Float operator/(Float a, Float b) { return {a.v / b.v}; }
    };
    struct Word {
        std::uint32_t v;
        DYNASERVE_FRIEND Word operator+(Word a, Word b) { return {a.v + b.v}; }
        DYNASERVE_FRIEND Word operator-(Word a, Word b) { return {a.v - b.v}; }
        DYNASERVE_FRIEND Word operator&(Word a, Word b) { return {a.v & b.v}; }
        DYNASERVE_FRIEND Word operator^(Word a, Word b) { return {a.v ^ b.v}; }
    };
    struct Mask {
        bool v;
        DYNASERVE_FRIEND Mask operator|(Mask a, Mask b) { return {a.v || b.v}; }
    };

    // Memory. `first` forms touch n < lanes values only.
    DYNASERVE_INLINE Float broadcast(float x) { return {x}; }
    DYNASERVE_INLINE Float load(const float* p) { return {*p}; }
    DYNASERVE_INLINE Float load_first(const float*, int, float rest) { return {rest}; }
    DYNASERVE_INLINE void store(float* p, Float x) { *p = x.v; }
    DYNASERVE_INLINE void store_first(float*, Float, int) {}

    // Arithmetic. max and min return their second argument where either is NaN.
    DYNASERVE_INLINE Float fma(Float a, Float b, Float c) { return {a.v * b.v + c.v}; }
    DYNASERVE_INLINE Float max(Float a, Float b) { return {a.v > b.v ? a.v : b.v}; }
    DYNASERVE_INLINE Float min(Float a, Float b) { return {a.v < b.v ? a.v : b.v}; }
    DYNASERVE_INLINE Float sqrt(Float a) { return {std::sqrt(a.v)}; }
    // To nearest, for |a| < 2^22: there 1.5 2^23 leaves no room for a fraction.
    DYNASERVE_INLINE Float round(Float a) { return {(a.v + 0x1.8p23f) - 0x1.8p23f}; }
    // a 2^n for integral n <= 0; below n = -126 it may lose digits, below n = -150 it is 0.
    DYNASERVE_INLINE Float scale(Float a, Float n) {
        const Float least = max(n, broadcast(-127));
        const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(least.v) + 127);
        return a * as_float(Word{exponent << 23});
    }
    DYNASERVE_INLINE float reduce_add(Float a) { return a.v; }
    DYNASERVE_INLINE float reduce_max(Float a) { return a.v; }

    // Comparison. not_less is true for NaN.
    DYNASERVE_INLINE Mask less(Float a, Float b) { return {a.v < b.v}; }
    DYNASERVE_INLINE Mask equal(Float a, Float b) { return {a.v == b.v}; }
    DYNASERVE_INLINE Mask not_less(Float a, Float b) { return {!(a.v < b.v)}; }
    DYNASERVE_INLINE Mask top_bit(Word a) { return {(a.v >> 31) != 0}; }
    DYNASERVE_INLINE unsigned bits(Mask m) { return m.v ? 1u : 0u; }
    DYNASERVE_INLINE Float select(Mask m, Float yes, Float no) { return m.v ? yes : no; }
    DYNASERVE_INLINE Word select(Mask m, Word yes, Word no) { return m.v ? yes : no; }

    // Words.
    DYNASERVE_INLINE Word broadcast_word(std::uint32_t x) { return {x}; }
    DYNASERVE_INLINE Word load_words(const std::uint32_t* p) { return {*p}; }
    DYNASERVE_INLINE void store_words(std::uint32_t* p, Word x) { *p = x.v; }
    template <int n>
    DYNASERVE_INLINE Word shift_left(Word a) {
        return {a.v << n};
    }
    template <int n>
    DYNASERVE_INLINE Word shift_right(Word a) {
        return {a.v >> n};
    }
    template <int n>
    DYNASERVE_INLINE Word shift_right_signed(Word a) {
        return {static_cast<std::uint32_t>(static_cast<std::int32_t>(a.v) >> n)};
    }
    DYNASERVE_INLINE Word xor3(Word a, Word b, Word c) { return {a.v ^ b.v ^ c.v}; }
    // The 64-bit product of each lane, in two words.
    DYNASERVE_INLINE void multiply(Word a, Word b, Word& high, Word& low) {
        const std::uint64_t product = std::uint64_t{a.v} * b.v;
        high = {static_cast<std::uint32_t>(product >> 32)};
        low = {static_cast<std::uint32_t>(product)};
    }
    // The word read as a signed integer, rounded to nearest.
    DYNASERVE_INLINE Float to_float(Word a) {
        return {static_cast<float>(static_cast<std::int32_t>(a.v))};
    }
    DYNASERVE_INLINE Word as_word(Float a) {
        Word w;
        std::memcpy(&w, &a, sizeof w);
        return w;
    }
    DYNASERVE_INLINE Float as_float(Word a) {
        Float f;
        std::memcpy(&f, &a, sizeof f);
        return f;
    }

    // If lane i of four vectors holds the four values of block block_of_lane()[i], transpose4
    // turns them into 4 * lanes consecutive values.
    DYNASERVE_INLINE Word block_of_lane() { return {0}; }
    DYNASERVE_INLINE void transpose4(Float (&)[4]) {}
    // Four neighbouring columns of `lanes` rows, one row per lane.
    DYNASERVE_INLINE void load_columns(const float* rows, std::ptrdiff_t, Float (&x)[4]) {
        for (int i = 0; i < 4; ++i) x[i] = {rows[i]};
    }
    DYNASERVE_INLINE void store_columns(float* rows, std::ptrdiff_t, Float (&x)[4]) {
        for (int i = 0; i < 4; ++i) rows[i] = x[i].v;
    }
};

}  // namespace dynaserve::simd
