// Which kernels run: the widest instruction set that this build has and this processor runs, or
// the one that DYNASERVE_ISA names.
#pragma once

#include <vector>

#include "kernels.h"

namespace dynaserve {

// Narrowest first.
std::vector<Kernels> available_kernels();

// Throws std::runtime_error if DYNASERVE_ISA names a set that is not available.
const Kernels& active_kernels();

}  // namespace dynaserve
