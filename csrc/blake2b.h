// BLAKE2b, keyed: a hash of a message that nobody without the key can tell from random bytes.
// Source: RFC 7693, M-J. Saarinen and J-P. Aumasson (2015).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace dynaserve {

class Blake2b {
  public:
    static constexpr std::size_t max_key = 64, max_digest = 64;

    // A key of 1 to 64 bytes, and the size of the digest, 1 to 64.
    Blake2b(std::string_view key, std::size_t digest_size) : h_(iv), digest_size_(digest_size) {
        h_[0] ^= 0x01010000 ^ key.size() << 8 ^ digest_size;
        std::memcpy(block_, key.data(), key.size());
        held_ = sizeof block_;
    }

    void update(std::string_view message) {
        while (!message.empty()) {
            // The last block is another one: a full block waits until more comes.
            if (held_ == sizeof block_) {
                absorb(0);
                held_ = 0;
            }
            const std::size_t taken = std::min(message.size(), sizeof block_ - held_);
            std::memcpy(block_ + held_, message.data(), taken);
            held_ += taken;
            message.remove_prefix(taken);
        }
    }

    // Write the digest; nothing may follow.
    void finish(char* digest) {
        std::memset(block_ + held_, 0, sizeof block_ - held_);
        absorb(~std::uint64_t{0});
        std::memcpy(digest, h_.data(), digest_size_);
    }

  private:
    using Words = std::array<std::uint64_t, 16>;

    static constexpr std::array<std::uint64_t, 8> iv = {
        0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
    static constexpr std::uint8_t sigma[10][16] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
        {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
        {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
        {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
        {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
        {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
        {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
        {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
        {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
        {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

    [[gnu::always_inline]] static std::uint64_t rotated(std::uint64_t x, int bits) {
        return x >> bits | x << (64 - bits);
    }

    [[gnu::always_inline]] static void mix(Words& v, int a, int b, int c, int d, std::uint64_t x,
                                           std::uint64_t y) {
        v[a] += v[b] + x, v[d] = rotated(v[d] ^ v[a], 32);
        v[c] += v[d], v[b] = rotated(v[b] ^ v[c], 24);
        v[a] += v[b] + y, v[d] = rotated(v[d] ^ v[a], 16);
        v[c] += v[d], v[b] = rotated(v[b] ^ v[c], 63);
    }

    template <int number>
    [[gnu::always_inline]] static void round(Words& v, const Words& m) {
        constexpr const std::uint8_t (&s)[16] = sigma[number % 10];
        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]), mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]), mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]), mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]), mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }

    // The rounds are known when this is compiled, so that a word is found without looking it up.
    template <int... numbers>
    static void rounds(Words& v, const Words& m, std::integer_sequence<int, numbers...>) {
        (round<numbers>(v, m), ...);
    }

    // Take in the block; `last` has all bits set for the last one, and else none.
    void absorb(std::uint64_t last) {
        size_ += held_;
        Words m, v;
        std::memcpy(m.data(), block_, sizeof block_);
        std::copy(iv.begin(), iv.end(), std::copy(h_.begin(), h_.end(), v.begin()));
        v[12] ^= size_;  // a message of 2^64 bytes fits nowhere
        v[14] ^= last;
        rounds(v, m, std::make_integer_sequence<int, 12>());
        for (std::size_t i = 0; i < h_.size(); ++i) h_[i] ^= v[i] ^ v[i + 8];
    }

    std::array<std::uint64_t, 8> h_;
    std::uint64_t size_ = 0;
    std::size_t digest_size_, held_ = 0;
    char block_[128] = {};
};

}  // namespace dynaserve
