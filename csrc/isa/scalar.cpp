#include "simd/scalar.h"

#include "isa/instantiate.h"

namespace dynaserve {

Kernels scalar_kernels() { return Instantiate<simd::Scalar>::kernels("scalar"); }

}  // namespace dynaserve
