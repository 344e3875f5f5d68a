// DynaNoise: gaussian noise on the logits, scaled by how sure the model is, then a softmax.
//
//   m = max x;  e_j = exp(x_j - m);  Z = sum e_j;  S = sum e_j (x_j - m)
//   H = log Z - S / Z;  R = clamp(1 - H / log k, 0, 1);  s^2 = s0^2 (1 + lambda R)
//   p = softmax((x - m + s g) / T),   g from Philox, see philox.h
//
// Written once over a vector type V, in two layouts. Up to few_classes of them, V::lanes rows
// are worked on side by side, one row per lane, so that no lane is wasted on a short row; above
// it, the lanes run along one row. Which layout a row gets depends on its length alone, so its
// result depends on nothing but its logits, its key and the parameters.
//
// A row with NaN, +infinity or nothing but -infinity makes Z NaN, and so is found without a look
// of its own.
#pragma once

#include <cmath>

#include "dynanoise/parameters.h"
#include "dynanoise/philox.h"
#include "row_group.h"
#include "simd/math.h"

namespace dynaserve {

template <class V>
struct DynaNoiseKernel {
    using Float = typename V::Float;
    using Word = typename V::Word;
    using Group = RowGroup<V>;
    static constexpr int lanes = V::lanes;

    // What turns x into y = (x - m + s g) / T, for one row or for one row per lane.
    struct Noise {
        Float m, s, inverse_t;
        Philox<V> philox;
        Word c2, c3;

        DYNASERVE_METHOD Float add(Float g, Float x) const {
            return V::fma(s, g, x - m) * inverse_t;
        }
    };

    // Blocks of normals made at a time; a fourth would run out of registers.
    static constexpr int blocks = 3;

    // ---- rows side by side ----

    struct Sensitivity {
        Float m, z, r;
    };

    static Sensitivity sensitivity(const Group& group) {
        Float m = group.column(0);
        for (std::ptrdiff_t j = 1; j < group.k; ++j) m = V::max(group.column(j), m);
        Float z = V::broadcast(0), s = V::broadcast(0);
        for (std::ptrdiff_t j = 0; j < group.k; ++j) {
            const Float d = V::max(V::broadcast(lowest), group.column(j) - m);
            const Float e = simd::exp<V>(d);
            z = z + e;
            s = V::fma(e, d, s);
        }
        const Float h = simd::log<V>(z) - s / z;
        const Float share = h * V::broadcast(static_cast<float>(1 / std::log(double(group.k))));
        const Float r = V::broadcast(1) - share;
        return {m, z, V::min(V::broadcast(1), V::max(V::broadcast(0), r))};
    }

    DYNASERVE_INLINE Noise noise_of(const Sensitivity& row, const std::uint32_t* keys, int n,
                                    const DynaNoiseParameters& parameters) {
        const Float scale = V::broadcast(parameters.sensitivity_scale);
        const Float variance =
            V::broadcast(parameters.variance) * V::fma(scale, row.r, V::broadcast(1));
        return {row.m,
                V::sqrt(variance),
                V::broadcast(parameters.inverse_temperature),
                Philox<V>::keyed(key_column(keys, 0, n), key_column(keys, 1, n)),
                key_column(keys, 2, n),
                key_column(keys, 3, n)};
    }

    // y for n blocks of four classes, from class j on; `top` follows the largest.
    template <int n>
    DYNASERVE_INLINE void add_noise(Group& group, std::ptrdiff_t j, const Noise& noise,
                                    Float& top) {
        Word b[n];
        Float g[n][4];
        for (int i = 0; i < n; ++i) {
            b[i] = V::broadcast_word(static_cast<std::uint32_t>(j / 4 + i));
        }
        noise.philox.normals(b, noise.c2, noise.c3, g);
        for (int i = 0; i < 4 * n && j + i < group.k; ++i) {
            const Float y = noise.add(g[i / 4][i % 4], group.column(j + i));
            group.set_column(j + i, y);
            top = V::max(y, top);
        }
    }

    DYNASERVE_INLINE void noisy_softmax(Group& group, const Noise& noise) {
        Float top = V::broadcast(-INFINITY);
        std::ptrdiff_t j = 0;
        for (; j + 4 * blocks <= group.padded; j += 4 * blocks) {
            add_noise<blocks>(group, j, noise, top);
        }
        for (; j < group.padded; j += 4) add_noise<1>(group, j, noise, top);
        Float z = V::broadcast(0);
        for (j = 0; j < group.k; ++j) {
            const Float e = simd::exp<V>(group.column(j) - top);
            group.set_column(j, e);
            z = z + e;
        }
        const Float scale = V::broadcast(1) / z;
        for (j = 0; j < group.k; ++j) group.set_column(j, group.column(j) * scale);
    }

    static Word key_column(const std::uint32_t* row_keys, int column, int n) {
        std::uint32_t words[lanes] = {};
        for (int i = 0; i < n; ++i) words[i] = row_keys[4 * i + column];
        return V::load_words(words);
    }

    // ---- one row along the lanes ----

    // Sums run in float32 over at most this many vectors, then in float64.
    static constexpr std::ptrdiff_t chunk = 128 * lanes;

    // Calls step(j, vector of x_j ..) for every vector of the row; the last is filled with -inf.
    template <class Step>
    DYNASERVE_INLINE void for_each_vector(const float* x, std::ptrdiff_t begin, std::ptrdiff_t end,
                                          const Step& step) {
        std::ptrdiff_t j = begin;
        for (; j + lanes <= end; j += lanes) step(j, V::load(x + j));
        if (j < end) step(j, V::load_first(x + j, static_cast<int>(end - j), -INFINITY));
    }

    // The part of a vector that the row still has; the rest reads as -infinity.
    DYNASERVE_INLINE Float load_part(const float* x, std::ptrdiff_t left) {
        if (left >= lanes) return V::load(x);
        if (left <= 0) return V::broadcast(-INFINITY);
        return V::load_first(x, static_cast<int>(left), -INFINITY);
    }
    DYNASERVE_INLINE void store_part(float* p, Float x, std::ptrdiff_t left) {
        if (left >= lanes) {
            V::store(p, x);
        } else if (left > 0) {
            V::store_first(p, x, static_cast<int>(left));
        }
    }

    static float maximum(const float* x, std::ptrdiff_t k) {
        Float top[4];
        for (auto& lane : top) lane = V::broadcast(-INFINITY);
        std::ptrdiff_t j = 0;
        for (; j + 4 * lanes <= k; j += 4 * lanes) {
            for (int i = 0; i < 4; ++i) top[i] = V::max(V::load(x + j + i * lanes), top[i]);
        }
        for_each_vector(x, j, k, [&](std::ptrdiff_t, Float v) { top[0] = V::max(v, top[0]); });
        return V::reduce_max(V::max(V::max(top[0], top[1]), V::max(top[2], top[3])));
    }

    struct RowSensitivity {
        float m;
        double z, r;
    };

    static RowSensitivity sensitivity(const float* x, std::ptrdiff_t k) {
        const float m = maximum(x, k);
        const Float shift = V::broadcast(m);
        double z = 0, s = 0;
        for (std::ptrdiff_t begin = 0; begin < k; begin += chunk) {
            const std::ptrdiff_t end = begin + chunk < k ? begin + chunk : k;
            Float z_lanes = V::broadcast(0), s_lanes = V::broadcast(0);
            for_each_vector(x, begin, end, [&](std::ptrdiff_t, Float v) {
                const Float d = V::max(V::broadcast(lowest), v - shift);
                const Float e = simd::exp<V>(d);
                z_lanes = z_lanes + e;
                s_lanes = V::fma(e, d, s_lanes);
            });
            z += V::reduce_add(z_lanes);
            s += V::reduce_add(s_lanes);
        }
        const double r = 1 - (std::log(z) - s / z) / std::log(double(k));
        return {m, z, r < 0 ? 0 : r > 1 ? 1 : r};
    }

    DYNASERVE_INLINE Noise noise_of(const RowSensitivity& row, const std::uint32_t* key,
                                    const DynaNoiseParameters& parameters) {
        const double variance = parameters.variance * (1 + parameters.sensitivity_scale * row.r);
        return {V::broadcast(row.m),
                V::broadcast(static_cast<float>(std::sqrt(variance))),
                V::broadcast(parameters.inverse_temperature),
                Philox<V>::keyed(V::broadcast_word(key[0]), V::broadcast_word(key[1])),
                V::broadcast_word(key[2]),
                V::broadcast_word(key[3])};
    }

    // y for n tiles of 4 * lanes classes, from class j on, into p; `top` follows the largest.
    // `whole`: the row has that many, and no vector needs a look at what is left.
    template <int n, bool whole>
    DYNASERVE_INLINE void add_noise(const float* x, std::ptrdiff_t j, std::ptrdiff_t k,
                                    const Noise& noise, float* p, Float& top) {
        Word b[n];
        Float g[n][4];
        for (int tile = 0; tile < n; ++tile) {
            const auto first = static_cast<std::uint32_t>(j / 4 + tile * lanes);
            b[tile] = V::block_of_lane() + V::broadcast_word(first);
        }
        noise.philox.normals(b, noise.c2, noise.c3, g);
        for (int tile = 0; tile < n; ++tile) {
            V::transpose4(g[tile]);
            for (int i = 0; i < 4; ++i, j += lanes) {
                const std::ptrdiff_t left = whole ? lanes : k - j;
                const Float y = noise.add(g[tile][i], load_part(x + j, left));
                store_part(p + j, y, left);
                top = V::max(y, top);
            }
        }
    }

    // p = softmax((x - m + s g) / T) into p, which may be x.
    DYNASERVE_INLINE void noisy_softmax(const float* x, std::ptrdiff_t k, const Noise& noise,
                                        float* p) {
        constexpr std::ptrdiff_t tile = 4 * lanes;
        Float top = V::broadcast(-INFINITY);
        std::ptrdiff_t j = 0;
        for (; j + blocks * tile <= k; j += blocks * tile) {
            add_noise<blocks, true>(x, j, k, noise, p, top);
        }
        for (; j < k; j += tile) add_noise<1, false>(x, j, k, noise, p, top);
        softmax(p, k, V::reduce_max(top));
    }

    // softmax in place; top is the largest value.
    static void softmax(float* p, std::ptrdiff_t k, float top) {
        const Float shift = V::broadcast(top);
        double z = 0;
        for (std::ptrdiff_t begin = 0; begin < k; begin += chunk) {
            const std::ptrdiff_t end = begin + chunk < k ? begin + chunk : k;
            Float z_lanes = V::broadcast(0);
            for_each_vector(p, begin, end, [&](std::ptrdiff_t j, Float y) {
                const Float e = simd::exp<V>(y - shift);
                store_part(p + j, e, k - j);
                z_lanes = z_lanes + e;
            });
            z += V::reduce_add(z_lanes);
        }
        const Float scale = V::broadcast(static_cast<float>(1 / z));
        for_each_vector(p, 0, k,
                        [&](std::ptrdiff_t j, Float e) { store_part(p + j, e * scale, k - j); });
    }

    // ---- the label ----

    // The first index of `value`, or k.
    static std::ptrdiff_t first_equal(const float* x, std::ptrdiff_t k, float value) {
        const Float wanted = V::broadcast(value);
        std::ptrdiff_t j = 0;
        for (; j + lanes <= k; j += lanes) {
            if (const unsigned found = V::bits(V::equal(V::load(x + j), wanted))) {
                return j + __builtin_ctz(found);
            }
        }
        while (j < k && x[j] != value) ++j;
        return j;
    }

    // Gives the largest probability back to class `top1`, with a strict gap to every other, and
    // counts in `moved` if another had it. False if there is no such class: another thread wrote
    // to the logits while they were read.
    static bool keep_top1(float* p, std::ptrdiff_t k, std::ptrdiff_t top1, std::ptrdiff_t& moved) {
        const std::ptrdiff_t noisy = first_equal(p, k, maximum(p, k));
        if (top1 == k || noisy == k) return false;
        moved += noisy != top1;
        const float largest = p[noisy];
        p[noisy] = p[top1];
        const float raised = std::nextafterf(largest, 2.0f);
        p[top1] = raised < 1.0f ? raised : 1.0f;
        return true;
    }

    // ---- entry points: rows [begin, end); the first bad row, or end ----

    static bool bad(double z) { return !(z > 0); }

    // `moved` grows by the rows whose label the noise had moved and preserve_top1 gave back.
    static std::ptrdiff_t run(const Rows& rows, const std::uint32_t* row_keys,
                              const DynaNoiseParameters& parameters, std::ptrdiff_t begin,
                              std::ptrdiff_t end, float* out, std::ptrdiff_t& moved) {
        return rows.classes <= few_classes
                   ? run_groups(rows, row_keys, parameters, begin, end, out, moved)
                   : run_rows(rows, row_keys, parameters, begin, end, out, moved);
    }

    static std::ptrdiff_t run_groups(const Rows& rows, const std::uint32_t* row_keys,
                                     const DynaNoiseParameters& parameters, std::ptrdiff_t begin,
                                     std::ptrdiff_t end, float* out, std::ptrdiff_t& moved) {
        const std::ptrdiff_t k = rows.classes;
        Group group;
        for (std::ptrdiff_t first = begin; first < end; first += lanes) {
            const int n = static_cast<int>(end - first < lanes ? end - first : lanes);
            group.load(rows, first, n);
            const Sensitivity row = sensitivity(group);
            const std::ptrdiff_t bad_row = first_bad(row.z);
            if (bad_row < n) return first + bad_row;
            std::ptrdiff_t top1[lanes] = {};
            if (parameters.preserve_top1) {
                float m[lanes];
                V::store(m, row.m);
                for (int i = 0; i < n; ++i) top1[i] = first_equal(group.row(i), k, m[i]);
            }
            noisy_softmax(group, noise_of(row, row_keys + 4 * first, n, parameters));
            group.columns_to_rows();
            for (int i = 0; i < n; ++i) {
                float* p = out + (first + i) * k;
                std::memcpy(p, group.row(i), sizeof(float) * k);
                if (parameters.preserve_top1 && !keep_top1(p, k, top1[i], moved)) {
                    return first + i;
                }
            }
        }
        return end;
    }

    static std::ptrdiff_t first_bad(Float z) {
        float lane[lanes];
        V::store(lane, z);
        std::ptrdiff_t i = 0;
        while (i < lanes && !bad(lane[i])) ++i;
        return i;
    }

    static std::ptrdiff_t run_rows(const Rows& rows, const std::uint32_t* row_keys,
                                   const DynaNoiseParameters& parameters, std::ptrdiff_t begin,
                                   std::ptrdiff_t end, float* out, std::ptrdiff_t& moved) {
        const std::ptrdiff_t k = rows.classes;
        for (std::ptrdiff_t i = begin; i < end; ++i) {
            float* p = out + i * k;
            const float* x = row_or_staged(rows, i, p);
            const RowSensitivity row = sensitivity(x, k);
            if (bad(row.z)) return i;
            const std::ptrdiff_t top1 = parameters.preserve_top1 ? first_equal(x, k, row.m) : 0;
            noisy_softmax(x, k, noise_of(row, row_keys + 4 * i, parameters), p);
            if (parameters.preserve_top1 && !keep_top1(p, k, top1, moved)) return i;
        }
        return end;
    }

    static const float* row_or_staged(const Rows& rows, std::ptrdiff_t i, float* staged) {
        if (rows.packed) return reinterpret_cast<const float*>(rows.row(i));
        stage(rows, i, staged);
        return staged;
    }

    // R of every row. `staged` holds one row.
    static std::ptrdiff_t run_sensitivity(const Rows& rows, std::ptrdiff_t begin,
                                          std::ptrdiff_t end, float* staged, float* out) {
        if (rows.classes <= few_classes) {
            Group group;
            for (std::ptrdiff_t first = begin; first < end; first += lanes) {
                const int n = static_cast<int>(end - first < lanes ? end - first : lanes);
                group.load(rows, first, n);
                const Sensitivity row = sensitivity(group);
                const std::ptrdiff_t bad_row = first_bad(row.z);
                if (bad_row < n) return first + bad_row;
                float r[lanes];
                V::store(r, row.r);
                std::memcpy(out + first, r, sizeof(float) * n);
            }
            return end;
        }
        for (std::ptrdiff_t i = begin; i < end; ++i) {
            const RowSensitivity row = sensitivity(row_or_staged(rows, i, staged), rows.classes);
            if (bad(row.z)) return i;
            out[i] = static_cast<float>(row.r);
        }
        return end;
    }

  private:
    // Below it exp is 0 in float32; keeps e (x - m) finite for a masked class.
    static constexpr float lowest = -104.0f;
};

}  // namespace dynaserve
