// Bugs that tests/native/sanitize must see die before it trusts a clean run.

#include <climits>
#include <cstddef>
#include <vector>

extern "C" float read_past_end(std::size_t n) {
    const std::vector<float> values(n, 1.0f);
    return values.data()[n];
}

extern "C" int overflow(int n) { return INT_MAX + n; }

// Where there is no masked store, the plain read stands in for it.
static volatile float read;

#if defined(__x86_64__)
extern "C" __attribute__((target("avx2"))) void masked_write_past_end(std::size_t n) {
    if (!__builtin_cpu_supports("avx2")) {
        read = read_past_end(n);
        return;
    }
    std::vector<float> values(n);
    const __m256i first_two = _mm256_setr_epi32(-1, -1, 0, 0, 0, 0, 0, 0);
    _mm256_maskstore_ps(values.data() + n - 1, first_two, _mm256_setzero_ps());
}
#else
extern "C" void masked_write_past_end(std::size_t n) { read = read_past_end(n); }
#endif
