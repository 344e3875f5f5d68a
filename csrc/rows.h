// A batch of rows as the caller holds it: any strides, three floating-point types. No copy is
// made of the batch; a kernel stages one row, or one group of rows, at a time.
#pragma once

#include "simd/inline.h"

namespace dynaserve {

enum class Type { float16, float32, float64 };

struct Rows {
    const char* data;
    Type type;
    std::ptrdiff_t count, classes;
    std::ptrdiff_t class_stride, row_stride;  // bytes
    const std::ptrdiff_t* offsets;            // bytes; of each row, where no single stride fits
    bool packed;                              // aligned float32 with neighbouring classes

    DYNASERVE_METHOD const char* row(std::ptrdiff_t i) const {
        return data + (offsets ? offsets[i] : i * row_stride);
    }
};

DYNASERVE_INLINE float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
    const std::uint32_t magnitude = half & 0x7fffu;
    std::uint32_t bits;
    if (magnitude >= 0x7c00u) {  // infinity, NaN
        bits = 0x7f800000u | (magnitude << 13);
    } else if (magnitude >= 0x0400u) {
        bits = (magnitude << 13) + 0x38000000u;
    } else {  // a multiple of 2^-24
        const float value = static_cast<float>(magnitude) * 0x1p-24f;
        std::memcpy(&bits, &value, sizeof bits);
    }
    bits |= sign;
    float result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

// Element types as the kernels read them: `read` gives a value of the type that order and
// differences are exact in.
struct Half {
    using Value = float;
    DYNASERVE_INLINE float read(const char* p) {
        std::uint16_t half;
        std::memcpy(&half, p, sizeof half);
        return half_to_float(half);
    }
};
template <class T>
struct Native {
    using Value = T;
    DYNASERVE_INLINE T read(const char* p) {
        T value;
        std::memcpy(&value, p, sizeof value);
        return value;
    }
};

// Row by row, x becomes float32 values whose differences are those of the logits.
template <class Element>
DYNASERVE_INLINE void stage_float(const char* row, std::ptrdiff_t stride, std::ptrdiff_t k,
                                  float* x) {
    for (std::ptrdiff_t j = 0; j < k; ++j) x[j] = Element::read(row + j * stride);
}

// At |x| = 1e4 a float32 cannot hold the digits that matter, so the maximum is taken off first.
// A difference too small for float32 stays negative: it decides the label.
DYNASERVE_INLINE void stage_double(const char* row, std::ptrdiff_t stride, std::ptrdiff_t k,
                                   float* x) {
    double m = Native<double>::read(row);
    for (std::ptrdiff_t j = 1; j < k; ++j) {
        const double value = Native<double>::read(row + j * stride);
        m = value > m ? value : m;
    }
    for (std::ptrdiff_t j = 0; j < k; ++j) {
        const double d = Native<double>::read(row + j * stride) - m;
        const float rounded = static_cast<float>(d);
        x[j] = rounded == 0.0f && d != 0.0 ? -0x1p-126f : rounded;
    }
}

DYNASERVE_INLINE void stage(const Rows& rows, std::ptrdiff_t i, float* x) {
    const char* row = rows.row(i);
    if (rows.packed) {
        std::memcpy(x, row, sizeof(float) * rows.classes);
        return;
    }
    switch (rows.type) {
        case Type::float16:
            return stage_float<Half>(row, rows.class_stride, rows.classes, x);
        case Type::float32:
            return stage_float<Native<float>>(row, rows.class_stride, rows.classes, x);
        case Type::float64:
            return stage_double(row, rows.class_stride, rows.classes, x);
    }
}

}  // namespace dynaserve
