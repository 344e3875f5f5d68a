#include "simd/avx512.h"

#include "isa/instantiate.h"

namespace dynaserve {

Kernels avx512_kernels() { return Instantiate<simd::Avx512>::kernels("avx512"); }

}  // namespace dynaserve
