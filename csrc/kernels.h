// One instruction set's kernels as plain functions: all that the rest of the library sees of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blake2b.h"
#include "dynanoise/parameters.h"
#include "rank_template/parameters.h"

namespace dynaserve {

struct Rows;

enum class Elementary { exp, log, sin_turn, cos_turn };

// One instruction set. The kernels take rows [begin, end) and return the first bad row, or end.
struct Kernels {
    const char* name;
    std::ptrdiff_t (*dynanoise)(const Rows&, const std::uint32_t* row_keys,
                                const DynaNoiseParameters&, std::ptrdiff_t begin,
                                std::ptrdiff_t end, float* out, std::ptrdiff_t& moved);
    std::ptrdiff_t (*sensitivity)(const Rows&, std::ptrdiff_t begin, std::ptrdiff_t end,
                                  float* staged_row, float* out);
    std::ptrdiff_t (*rank_template)(const Rows&, const RankTemplateParameters&,
                                    std::ptrdiff_t begin, std::ptrdiff_t end, float* out);
    void (*philox4x32)(const std::uint32_t* counters, const std::uint32_t* keys, std::ptrdiff_t n,
                       std::uint32_t* words);
    void (*elementary)(Elementary, const std::uint32_t* x, std::ptrdiff_t n, float* y);
    // The digests of `count` rows of `size` bytes each, each after what `common` has.
    void (*blake2b)(const Blake2b<1>& common, const char* data, std::size_t size,
                    std::ptrdiff_t count, char* digests);
};

}  // namespace dynaserve
