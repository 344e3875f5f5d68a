// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel Random Numbers: As Easy
// as 1, 2, 3" (SC 2011), and the map from its words to normals. The same words on every
// instruction set; every lane is its own counter, and may have its own key.
#pragma once

#include "simd/math.h"

namespace dynaserve {

template <class V>
struct Philox {
    using Word = typename V::Word;
    using Float = typename V::Float;
    static constexpr int rounds = 10;

    Word key[rounds][2];

    DYNASERVE_INLINE Philox keyed(Word k0, Word k1) {
        Philox philox;
        for (int i = 0; i < rounds; ++i) {
            philox.key[i][0] = k0;
            philox.key[i][1] = k1;
            k0 = k0 + V::broadcast_word(0x9E3779B9);
            k1 = k1 + V::broadcast_word(0xBB67AE85);
        }
        return philox;
    }

    // Counters go in, the four random words of each block come out. n blocks at a time, because
    // each round waits for the one before it and another block's rounds fill the gaps.
    template <int n>
    DYNASERVE_METHOD void words(Word (&c)[n][4]) const {
        const Word m0 = V::broadcast_word(0xD2511F53), m1 = V::broadcast_word(0xCD9E8D57);
        for (int i = 0; i < rounds; ++i) {
            for (auto& w : c) {
                Word high0, low0, high1, low1;
                V::multiply(w[0], m0, high0, low0);
                V::multiply(w[2], m1, high1, low1);
                w[0] = V::xor3(high1, w[1], key[i][0]);
                w[1] = low1;
                w[2] = V::xor3(high0, w[3], key[i][1]);
                w[3] = low0;
            }
        }
    }

    // Four standard normals of each block b: Box and Muller on (word 0, word 1) and (word 2, word
    // 3). The radius takes u = ((word >> 8) + 1) / 2^24, which float32 holds exactly and which is
    // never 0; the angle takes all 32 bits. So |g| <= sqrt(48 log 2) = 5.77.
    template <int n>
    DYNASERVE_METHOD void normals(const Word (&b)[n], Word c2, Word c3, Float (&g)[n][4]) const {
        Word w[n][4];
        for (int j = 0; j < n; ++j) {
            w[j][0] = b[j];
            w[j][1] = V::broadcast_word(0);
            w[j][2] = c2;
            w[j][3] = c3;
        }
        words(w);
        for (int j = 0; j < n; ++j) {
            for (int i = 0; i < 4; i += 2) {
                const Word numerator = V::template shift_right<8>(w[j][i]) + V::broadcast_word(1);
                const Float u = V::to_float(numerator) * V::broadcast(0x1p-24f);
                const Float radius = V::sqrt(V::broadcast(-2.0f) * simd::log<V>(u));
                Float sin, cos;
                simd::sincos_turn<V>(w[j][i + 1], sin, cos);
                g[j][i] = radius * cos;
                g[j][i + 1] = radius * sin;
            }
        }
    }
};

}  // namespace dynaserve
