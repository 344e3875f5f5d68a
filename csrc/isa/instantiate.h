// Every kernel over one vector type, as plain functions. Each file of this folder includes it
// once and is compiled with the flags of its instruction set.
#pragma once

#include "blake2b.h"
#include "dynanoise/kernel.h"
#include "kernels.h"
#include "rank_template/kernel.h"

namespace dynaserve {

template <class V>
struct Instantiate {
    static void philox4x32(const std::uint32_t* counters, const std::uint32_t* keys,
                           std::ptrdiff_t n, std::uint32_t* words) {
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            const auto philox = Philox<V>::keyed(V::broadcast_word(keys[2 * i]),
                                                 V::broadcast_word(keys[2 * i + 1]));
            typename V::Word c[1][4];
            for (int j = 0; j < 4; ++j) c[0][j] = V::broadcast_word(counters[4 * i + j]);
            philox.words(c);
            for (int j = 0; j < 4; ++j) {
                std::uint32_t lane[V::lanes];
                V::store_words(lane, c[0][j]);
                words[4 * i + j] = lane[V::lanes - 1];
            }
        }
    }

    static void elementary(Elementary function, const std::uint32_t* x, std::ptrdiff_t n,
                           float* y) {
        for (std::ptrdiff_t i = 0; i < n; i += V::lanes) {
            const auto left = n - i < V::lanes ? n - i : V::lanes;
            std::uint32_t words[V::lanes] = {};
            float values[V::lanes] = {};
            std::memcpy(words, x + i, sizeof(float) * left);
            const typename V::Word word = V::load_words(words);
            const typename V::Float argument = V::as_float(word);
            typename V::Float sin, cos;
            switch (function) {
                case Elementary::exp:
                    V::store(values, simd::exp<V>(argument));
                    break;
                case Elementary::log:
                    V::store(values, simd::log<V>(argument));
                    break;
                case Elementary::sin_turn:
                    simd::sincos_turn<V>(word, sin, cos);
                    V::store(values, sin);
                    break;
                case Elementary::cos_turn:
                    simd::sincos_turn<V>(word, sin, cos);
                    V::store(values, cos);
                    break;
            }
            std::memcpy(y + i, values, sizeof(float) * left);
        }
    }

    static void blake2b(const Blake2b<1>& common, const char* data, std::size_t size,
                        std::ptrdiff_t count, char* digests) {
        constexpr int wide = V::lanes > 2 ? V::lanes / 2 : 1;  // of 64 bits
        const std::ptrdiff_t done = blake2b_rows<wide>(common, data, size, count, digests);
        blake2b_rows<1>(common, data + done * size, size, count - done,
                        digests + done * Blake2b<1>::digest_size);
    }

    static Kernels kernels(const char* name) {
        return {name,
                &DynaNoiseKernel<V>::run,
                &DynaNoiseKernel<V>::run_sensitivity,
                &RankTemplateKernel<V>::run,
                &philox4x32,
                &elementary,
                &blake2b};
    }
};

}  // namespace dynaserve
