// RankTemplate: what is released says which classes came first, and in which order; nothing else
// about the logits.
//
//   j_0 .. j_R = the top R + 1 classes by (x descending, index ascending);  P = confidence[j_0]
//   p[j_0] = P;  p[j_r] = (1 - P) w_r;  every other class (1 - P) w_tail
//   masked classes (-infinity) stay 0; p is divided by its sum
//
// No exp, no log: a selection. float64 logits are compared as float64, since a cast to float32
// could tie what the model told apart.
#pragma once

#include <cmath>
#include <limits>

#include "rank_template/parameters.h"
#include "row_group.h"

namespace dynaserve {

template <class V>
struct RankTemplateKernel {
    using Float = typename V::Float;
    using Word = typename V::Word;
    using Mask = typename V::Mask;
    using Group = RowGroup<V>;
    static constexpr int lanes = V::lanes;
    static constexpr std::ptrdiff_t max_depth = RankTemplateParameters::max_ranks + 1;

    // The top classes of one row, in order, at most `depth` of them.
    template <class Value>
    struct Top {
        std::ptrdiff_t depth, found = 0;
        std::uint32_t index[max_depth];
        Value value[max_depth];

        explicit Top(std::ptrdiff_t depth_) : depth(depth_) {}

        // Below or at it, a class that comes later in the row cannot enter.
        Value threshold() const { return found < depth ? Value(-INFINITY) : value[depth - 1]; }

        DYNASERVE_METHOD void offer(Value x, std::ptrdiff_t j) {
            if (!(x > threshold())) return;
            std::ptrdiff_t i = found < depth ? found++ : depth - 1;
            for (; i > 0 && value[i - 1] < x; --i) {
                value[i] = value[i - 1];
                index[i] = index[i - 1];
            }
            value[i] = x;
            index[i] = static_cast<std::uint32_t>(j);
        }
    };

    // ---- release ----

    static bool release(const std::uint32_t* top, std::ptrdiff_t found, std::ptrdiff_t k,
                        std::ptrdiff_t masked, const RankTemplateParameters& parameters, float* p) {
        const double confidence = parameters.confidence[top[0]], rest = 1 - confidence;
        if (!RankTemplateParameters::is_confidence(confidence)) return false;
        double shares = parameters.tail_weight * static_cast<double>(k - masked - found);
        for (std::ptrdiff_t r = 1; r < found; ++r) shares += parameters.rank_weights[r - 1];
        const double scale = 1 / (confidence + rest * shares);
        const float tail = static_cast<float>(rest * parameters.tail_weight * scale);
        for (std::ptrdiff_t j = 0; j < k; ++j) p[j] = tail;
        for (std::ptrdiff_t r = 1; r < found; ++r) {
            p[top[r]] = static_cast<float>(rest * parameters.rank_weights[r - 1] * scale);
        }
        p[top[0]] = static_cast<float>(confidence * scale);
        return true;
    }

    // ---- one row, any type and stride ----

    template <class Element>
    static bool run_row(const char* row, std::ptrdiff_t stride, std::ptrdiff_t k,
                        const RankTemplateParameters& parameters, std::ptrdiff_t depth, float* p) {
        Top<typename Element::Value> top(depth);
        std::ptrdiff_t masked = 0;
        for (std::ptrdiff_t j = 0; j < k; ++j) {
            const auto x = Element::read(row + j * stride);
            if (!(x < INFINITY)) return false;
            masked += x == -INFINITY;
            top.offer(x, j);
        }
        if (top.found == 0) return false;
        if (!release(top.index, top.found, k, masked, parameters, p)) return false;
        for (std::ptrdiff_t j = 0; masked > 0 && j < k; ++j) {
            if (Element::read(row + j * stride) == -INFINITY) p[j] = 0, --masked;
        }
        return true;
    }

    // ---- one long row along the lanes ----

    // Two passes. First the largest value of each lane: the depth-th largest of those bounds the
    // top from below, and only a handful of values reach it. One pass that raises the bar on its
    // way mispredicts a branch for each value that passes, and is slower than a softmax.
    static bool run_packed(const float* x, std::ptrdiff_t k,
                           const RankTemplateParameters& parameters, std::ptrdiff_t depth,
                           float* p) {
        Float bar = V::broadcast(INFINITY);
        if (depth > lanes || !reached(x, k, depth, bar)) {
            const auto row = reinterpret_cast<const char*>(x);
            return run_row<Native<float>>(row, sizeof(float), k, parameters, depth, p);
        }
        Top<float> top(depth);
        for (std::ptrdiff_t j = 0; j < k; j += 4 * lanes) {
            unsigned reaches[4], any = 0;
            for (int i = 0; i < 4; ++i) {
                const std::ptrdiff_t at = j + i * lanes;
                reaches[i] = V::bits(V::not_less(load_part(x, at, k), bar)) & first_bits(k - at);
                any |= reaches[i];
            }
            if (any == 0) continue;
            for (int i = 0; i < 4; ++i) {
                for (unsigned left = reaches[i]; left != 0; left &= left - 1) {
                    const std::ptrdiff_t at = j + i * lanes + __builtin_ctz(left);
                    top.offer(x[at], at);
                }
            }
        }
        return top.found > 0 && release(top.index, top.found, k, 0, parameters, p);
    }

    // Values from x_j on, filled up with the lowest finite one.
    DYNASERVE_INLINE Float load_part(const float* x, std::ptrdiff_t j, std::ptrdiff_t k) {
        constexpr float lowest = std::numeric_limits<float>::lowest();
        if (j + lanes <= k) return V::load(x + j);
        return j < k ? V::load_first(x + j, static_cast<int>(k - j), lowest) : V::broadcast(lowest);
    }

    DYNASERVE_INLINE unsigned first_bits(std::ptrdiff_t n) {
        return n >= lanes ? ~0u : n > 0 ? (1u << n) - 1 : 0;
    }

    // Sets `bar` to a value that at least `depth` classes reach; false if one is masked, NaN or
    // +infinity.
    static bool reached(const float* x, std::ptrdiff_t k, std::ptrdiff_t depth, Float& bar) {
        const Float infinity = V::broadcast(INFINITY), minus = V::broadcast(-INFINITY);
        Float largest[4];
        for (auto& lane : largest) lane = minus;
        unsigned special = 0;
        for (std::ptrdiff_t j = 0; j < k; j += 4 * lanes) {
            Mask odd[4];
            for (int i = 0; i < 4; ++i) {
                const Float v = load_part(x, j + i * lanes, k);
                odd[i] = V::not_less(v, infinity) | V::equal(v, minus);
                largest[i] = V::max(v, largest[i]);
            }
            special |= V::bits((odd[0] | odd[1]) | (odd[2] | odd[3]));
        }
        Float lane = V::max(V::max(largest[0], largest[1]), V::max(largest[2], largest[3]));
        for (std::ptrdiff_t r = 0; r < depth; ++r) {
            bar = V::broadcast(V::reduce_max(lane));
            lane = V::select(V::equal(lane, bar), minus, lane);  // and its equals: a lower bar
        }
        return special == 0;
    }

    // ---- short rows side by side ----

    // Insertion sort in every lane at once. `fixed` is the depth where the compiler may keep the
    // whole order in registers, 0 where it is only known at run time.
    template <int fixed>
    static Mask order(const Group& group, std::ptrdiff_t run_time_depth, std::uint32_t* index) {
        const std::ptrdiff_t depth = fixed ? fixed : run_time_depth;
        constexpr std::ptrdiff_t capacity = fixed ? fixed : max_depth;
        Float value[capacity];
        Word position[capacity];
        for (std::ptrdiff_t r = 0; r < depth; ++r) {
            value[r] = V::broadcast(-INFINITY);
            position[r] = V::broadcast_word(0);
        }
        Mask special = V::less(V::broadcast(0), V::broadcast(0));
        for (std::ptrdiff_t j = 0; j < group.k; ++j) {
            Float x = group.column(j);
            Word at = V::broadcast_word(static_cast<std::uint32_t>(j));
            special = special | V::not_less(x, V::broadcast(INFINITY)) |
                      V::equal(x, V::broadcast(-INFINITY));
            Mask enters = V::less(value[0], x);
            for (std::ptrdiff_t r = 0; r < depth; ++r) {
                // once x has entered, all that it pushes down enters too: ties stay in order
                enters = enters | V::less(value[r], x);
                const Float pushed = V::select(enters, value[r], x);
                const Word pushed_at = V::select(enters, position[r], at);
                value[r] = V::select(enters, x, value[r]);
                position[r] = V::select(enters, at, position[r]);
                x = pushed;
                at = pushed_at;
            }
        }
        for (std::ptrdiff_t r = 0; r < depth; ++r) V::store_words(index + r * lanes, position[r]);
        return special;
    }

    // ---- entry point: rows [begin, end); the first bad row, or end ----

    static std::ptrdiff_t run(const Rows& rows, const RankTemplateParameters& parameters,
                              std::ptrdiff_t begin, std::ptrdiff_t end, float* out) {
        const std::ptrdiff_t k = rows.classes;
        const std::ptrdiff_t depth = parameters.ranks + 1 < k ? parameters.ranks + 1 : k;
        if (k <= few_classes && rows.type != Type::float64) {
            return run_groups(rows, parameters, depth, begin, end, out);
        }
        for (std::ptrdiff_t i = begin; i < end; ++i) {
            float* p = out + i * k;
            const char* row = rows.row(i);
            const bool good =
                rows.packed
                    ? run_packed(reinterpret_cast<const float*>(row), k, parameters, depth, p)
                    : run_any(rows.type, row, rows.class_stride, k, parameters, depth, p);
            if (!good) return i;
        }
        return end;
    }

    static bool run_any(Type type, const char* row, std::ptrdiff_t stride, std::ptrdiff_t k,
                        const RankTemplateParameters& parameters, std::ptrdiff_t depth, float* p) {
        switch (type) {
            case Type::float16:
                return run_row<Half>(row, stride, k, parameters, depth, p);
            case Type::float32:
                return run_row<Native<float>>(row, stride, k, parameters, depth, p);
            default:
                return run_row<Native<double>>(row, stride, k, parameters, depth, p);
        }
    }

    static std::ptrdiff_t run_groups(const Rows& rows, const RankTemplateParameters& parameters,
                                     std::ptrdiff_t depth, std::ptrdiff_t begin, std::ptrdiff_t end,
                                     float* out) {
        const std::ptrdiff_t k = rows.classes;
        Group group;
        std::uint32_t index[max_depth * lanes];
        for (std::ptrdiff_t first = begin; first < end; first += lanes) {
            const int n = static_cast<int>(end - first < lanes ? end - first : lanes);
            group.load(rows, first, n);
            const unsigned special =
                V::bits(depth == 4 ? order<4>(group, depth, index) : order<0>(group, depth, index));
            for (int i = 0; i < n; ++i) {
                float* p = out + (first + i) * k;
                if (special >> i & 1u) {
                    const auto* row = reinterpret_cast<const char*>(group.row(i));
                    if (!run_row<Native<float>>(row, sizeof(float), k, parameters, depth, p)) {
                        return first + i;
                    }
                    continue;
                }
                std::uint32_t top[max_depth];
                for (std::ptrdiff_t r = 0; r < depth; ++r) top[r] = index[r * lanes + i];
                if (!release(top, depth, k, 0, parameters, p)) return first + i;
            }
        }
        return end;
    }
};

}  // namespace dynaserve
