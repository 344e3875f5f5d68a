// Rows with few classes, worked on side by side: one row per lane, so that a row of ten classes
// wastes none of sixteen lanes. Column j of the group is one vector.
#pragma once

#include "rows.h"

namespace dynaserve {

// Above it a kernel runs its lanes along one row instead.
constexpr std::ptrdiff_t few_classes = 128;

template <class V>
struct RowGroup {
    using Float = typename V::Float;

    std::ptrdiff_t k, padded;  // classes; classes in whole blocks of four
    alignas(64) float rows[V::lanes * few_classes];
    alignas(64) float columns[V::lanes * few_classes];

    Float column(std::ptrdiff_t j) const { return V::load(columns + j * V::lanes); }
    void set_column(std::ptrdiff_t j, Float x) { V::store(columns + j * V::lanes, x); }
    float* row(int i) { return rows + i * padded; }

    // Takes n rows from `first` on; the lanes without a row get zeros.
    void load(const Rows& batch, std::ptrdiff_t first, int n) {
        k = batch.classes;
        padded = (k + 3) & ~std::ptrdiff_t{3};
        for (int i = 0; i < n; ++i) {
            stage(batch, first + i, row(i));
            for (std::ptrdiff_t j = k; j < padded; ++j) row(i)[j] = 0;
        }
        std::memset(row(n), 0, sizeof(float) * (V::lanes - n) * padded);
        for (std::ptrdiff_t j = 0; j < padded; j += 4) {
            Float x[4];
            V::load_columns(rows + j, padded, x);
            for (int i = 0; i < 4; ++i) set_column(j + i, x[i]);
        }
    }

    void columns_to_rows() {
        for (std::ptrdiff_t j = 0; j < padded; j += 4) {
            Float x[4] = {column(j), column(j + 1), column(j + 2), column(j + 3)};
            V::store_columns(rows + j, padded, x);
        }
    }
};

}  // namespace dynaserve
