#include "dispatch.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace dynaserve {

Kernels scalar_kernels();
Kernels avx2_kernels();
Kernels avx512_kernels();
Kernels neon_kernels();

std::vector<Kernels> available_kernels() {
    std::vector<Kernels> available = {scalar_kernels()};
#ifdef DYNASERVE_WITH_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        available.push_back(avx2_kernels());
    }
#endif
#ifdef DYNASERVE_WITH_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        available.push_back(avx512_kernels());
    }
#endif
#ifdef DYNASERVE_WITH_NEON
    available.push_back(neon_kernels());
#endif
    return available;
}

static Kernels choose() {
    const std::vector<Kernels> available = available_kernels();
    const char* wanted = std::getenv("DYNASERVE_ISA");
    if (wanted == nullptr || *wanted == '\0') return available.back();
    std::string names;
    for (const Kernels& kernels : available) {
        if (wanted == std::string(kernels.name)) return kernels;
        names += names.empty() ? "" : ", ";
        names += kernels.name;
    }
    throw std::runtime_error("DYNASERVE_ISA=" + std::string(wanted) +
                             " is not available here; choose one of: " + names);
}

const Kernels& active_kernels() {
    static const Kernels kernels = choose();
    return kernels;
}

}  // namespace dynaserve
