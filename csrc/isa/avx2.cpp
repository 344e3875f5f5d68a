#include "simd/avx2.h"

#include "isa/instantiate.h"

namespace dynaserve {

Kernels avx2_kernels() { return Instantiate<simd::Avx2>::kernels("avx2"); }

}  // namespace dynaserve
