// Every function that is compiled with an instruction set's own flags must vanish into its
// caller: an out-of-line copy could be merged with another set's copy by the linker, and then
// AVX-512 code would run on a machine that has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#define DYNASERVE_INLINE static inline __attribute__((always_inline))
#define DYNASERVE_FRIEND friend inline __attribute__((always_inline))
#define DYNASERVE_METHOD inline __attribute__((always_inline))
