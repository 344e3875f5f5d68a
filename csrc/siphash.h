// SipHash-2-4: 64 bits of a message under a secret key, so that nobody without the key can choose
// messages that collide.
// Source: J.-P. Aumasson, D. J. Bernstein, SipHash: a fast short-input PRF (2012), section 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dynaserve {

class SipHash {
  public:
    static constexpr std::size_t key_size = 16;

    explicit SipHash(const char* key) : k0_(word(key)), k1_(word(key + 8)) {}

    std::uint64_t operator()(const char* message, std::size_t size) const {
        State v{k0_ ^ 0x736f6d6570736575, k1_ ^ 0x646f72616e646f6d, k0_ ^ 0x6c7967656e657261,
                k1_ ^ 0x7465646279746573};
        const char* const end = message + size / 8 * 8;
        for (; message != end; message += 8) v.absorb(word(message));
        std::uint64_t last = 0;
        std::memcpy(&last, message, size % 8);
        v.absorb(last | static_cast<std::uint64_t>(size) << 56);
        v.c ^= 0xff;
        for (int i = 0; i < 4; ++i) v.round();
        return v.a ^ v.b ^ v.c ^ v.d;
    }

  private:
    struct State {
        std::uint64_t a, b, c, d;

        static std::uint64_t rotated(std::uint64_t x, int bits) {
            return x << bits | x >> (64 - bits);
        }

        void round() {
            a += b, b = rotated(b, 13) ^ a, a = rotated(a, 32);
            c += d, d = rotated(d, 16) ^ c;
            a += d, d = rotated(d, 21) ^ a;
            c += b, b = rotated(b, 17) ^ c, c = rotated(c, 32);
        }

        void absorb(std::uint64_t m) {
            d ^= m;
            round();
            round();
            a ^= m;
        }
    };

    static std::uint64_t word(const char* p) {
        std::uint64_t m;
        std::memcpy(&m, p, sizeof m);
        return m;
    }

    std::uint64_t k0_, k1_;
};

}  // namespace dynaserve
