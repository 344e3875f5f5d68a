// Compares the NEON kernels with the scalar ones, which the Python tests hold to the float64
// reference. A program of its own so that an x86 machine can run it: `make neon` cross-compiles
// it for AArch64 and runs it under qemu.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "kernels.h"
#include "rows.h"

namespace dynaserve {
Kernels scalar_kernels();
Kernels neon_kernels();
}  // namespace dynaserve

using dynaserve::Elementary;
using dynaserve::Rows;
using dynaserve::Type;

namespace {

int failures = 0;

void expect(bool good, const char* what, std::ptrdiff_t k, double value) {
    if (good) return;
    ++failures;
    std::printf("FAILED %s, k = %td: %g\n", what, k, value);
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = std::fabs(double(a[i]) - double(b[i]));
        if (!(difference <= largest)) largest = difference;
    }
    return largest;
}

void compare(const dynaserve::Kernels& scalar, const dynaserve::Kernels& neon, std::ptrdiff_t k) {
    const std::ptrdiff_t n = 37;
    std::mt19937 random(static_cast<unsigned>(k));
    std::normal_distribution<float> normal;
    std::vector<float> logits(static_cast<std::size_t>(n * k));
    for (std::size_t i = 0; i < logits.size(); ++i) {
        logits[i] = normal(random) * (i / k % 3 == 0 ? 1e3f : 2.0f);
        if (i % k != 0 && random() % 7 == 0) logits[i] = -INFINITY;
        if (i / k % 5 == 0) logits[i] = std::round(logits[i]);
    }
    std::vector<std::uint32_t> keys(static_cast<std::size_t>(4 * n));
    for (auto& word : keys) word = random();
    const Rows rows = {
        reinterpret_cast<const char*>(logits.data()),   Type::float32, n,   k, sizeof(float),
        static_cast<std::ptrdiff_t>(k * sizeof(float)), nullptr,       true};

    std::vector<float> expected(logits.size()), released(logits.size());
    for (const bool preserve_top1 : {false, true}) {
        const dynaserve::DynaNoiseParameters parameters = {0.3f, 2.0f, 0.5f, preserve_top1};
        std::ptrdiff_t moved = 0, moved_neon = 0;
        expect(scalar.dynanoise(rows, keys.data(), parameters, 0, n, expected.data(), moved) == n,
               "scalar dynanoise", k, 0);
        expect(
            neon.dynanoise(rows, keys.data(), parameters, 0, n, released.data(), moved_neon) == n,
            "neon dynanoise", k, 0);
        expect(moved == moved_neon, "labels kept differ", k, double(moved_neon - moved));
        const double difference = largest_difference(expected, released);
        expect(difference <= 4e-6, "dynanoise differs", k, difference);
    }

    std::vector<float> staged(static_cast<std::size_t>(k)), r(n), r_neon(n);
    scalar.sensitivity(rows, 0, n, staged.data(), r.data());
    neon.sensitivity(rows, 0, n, staged.data(), r_neon.data());
    expect(largest_difference(r, r_neon) <= 2e-6, "sensitivity differs", k,
           largest_difference(r, r_neon));

    const std::vector<double> confidence(static_cast<std::size_t>(k), 0.8);
    const double weights[] = {0.4, 0.3, 0.2, 0.1, 0.1};
    for (const std::ptrdiff_t ranks : {0, 1, 3, 5}) {
        const dynaserve::RankTemplateParameters parameters = {
            {confidence.data(), false}, weights, ranks, 0.01};
        scalar.rank_template(rows, parameters, 0, n, expected.data());
        neon.rank_template(rows, parameters, 0, n, released.data());
        expect(expected == released, "rank_template differs", k, static_cast<double>(ranks));
    }

    logits[static_cast<std::size_t>(21 * k + k - 1)] = NAN;
    const dynaserve::DynaNoiseParameters parameters = {0.3f, 2.0f, 0.5f, false};
    std::ptrdiff_t moved = 0;
    const auto stopped =
        neon.dynanoise(rows, keys.data(), parameters, 0, n, released.data(), moved);
    expect(stopped == 21, "a NaN row is not found by dynanoise", k, static_cast<double>(stopped));
    const dynaserve::RankTemplateParameters top = {{confidence.data(), false}, weights, 3, 0.01};
    const auto at = neon.rank_template(rows, top, 0, n, released.data());
    expect(at == 21, "a NaN row is not found by rank_template", k, static_cast<double>(at));
}

void known_answer(const dynaserve::Kernels& kernels) {
    // Random123, kat_vectors: philox4x32, 10 rounds
    const std::uint32_t counter[] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    const std::uint32_t key[] = {0xa4093822, 0x299f31d0};
    const std::uint32_t expected[] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    std::uint32_t words[4];
    kernels.philox4x32(counter, key, 1, words);
    expect(std::memcmp(words, expected, sizeof words) == 0, kernels.name, 0, words[0]);
}

std::vector<char> digests(const dynaserve::Kernels& kernels, const std::vector<char>& message,
                          std::ptrdiff_t rows) {
    dynaserve::Blake2b<1> common("a key");
    common.update("before", 6);
    std::vector<char> found(16 * rows);
    kernels.blake2b(common, message.data(), message.size() / rows, rows, found.data());
    return found;
}

void compare_hashes(const dynaserve::Kernels& scalar, const dynaserve::Kernels& neon) {
    for (const std::ptrdiff_t rows : {1, 2, 3, 5}) {
        for (const std::ptrdiff_t size : {0, 1, 121, 122, 123, 128, 250, 257, 1000}) {
            std::vector<char> message(static_cast<std::size_t>(rows * size));
            for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<char>(7 * i);
            expect(digests(scalar, message, rows) == digests(neon, message, rows),
                   "blake2b differs", size, static_cast<double>(rows));
        }
    }
    // hashlib.blake2b(b"beforeabc", key=b"a key", digest_size=16)
    const unsigned char known[] = {0x2a, 0x50, 0x58, 0xeb, 0xb7, 0xd0, 0xea, 0x2f,
                                   0x2c, 0xbe, 0x25, 0x8a, 0x85, 0xd0, 0xf5, 0xb8};
    const auto found = digests(neon, {'a', 'b', 'c'}, 1);
    expect(std::memcmp(found.data(), known, sizeof known) == 0, "blake2b of neon", 3, 1);
}

}  // namespace

int main() {
    const auto scalar = dynaserve::scalar_kernels(), neon = dynaserve::neon_kernels();
    known_answer(scalar);
    known_answer(neon);
    compare_hashes(scalar, neon);
    int sizes = 0;
    for (const std::ptrdiff_t k :
         {2, 3, 4, 5, 10, 16, 17, 31, 33, 100, 127, 128, 129, 1000, 5003}) {
        compare(scalar, neon, k);
        ++sizes;
    }
    std::printf("%d sizes compared, %d failures\n", sizes, failures);
    return failures == 0 ? 0 : 1;
}
