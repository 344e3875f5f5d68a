#include "simd/neon.h"

#include "isa/instantiate.h"

namespace dynaserve {

Kernels neon_kernels() { return Instantiate<simd::Neon>::kernels("neon"); }

}  // namespace dynaserve
