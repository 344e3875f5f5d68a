// What a caller chooses, as the kernel wants it.
#pragma once

namespace dynaserve {

struct DynaNoiseParameters {
    float variance;             // s0^2
    float sensitivity_scale;    // lambda
    float inverse_temperature;  // 1 / T
    bool preserve_top1;
};

}  // namespace dynaserve
