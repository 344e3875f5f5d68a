// A calibrated template, as the kernel wants it.
#pragma once

#include "simd/inline.h"

namespace dynaserve {

// Probabilities read where the caller keeps them: k may be large, and the batch one row.
struct Confidence {
    const void* values;
    bool single;  // float32, else float64

    DYNASERVE_METHOD double operator[](std::ptrdiff_t c) const {
        return single ? static_cast<const float*>(values)[c]
                      : static_cast<const double*>(values)[c];
    }
};

struct RankTemplateParameters {
    static constexpr std::ptrdiff_t max_ranks = 127;

    DYNASERVE_INLINE bool is_confidence(double p) { return p >= 1e-30 && p <= 1; }

    Confidence confidence;       // (k,) probability of the top class, by top class
    const double* rank_weights;  // (ranks,) share of the rest that each runner-up gets
    std::ptrdiff_t ranks;        // R, 0 .. max_ranks
    double tail_weight;          // share of the rest that each class below gets
};

}  // namespace dynaserve
