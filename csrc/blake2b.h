// BLAKE2b, keyed: a hash of a message that nobody without the key can tell from random bytes.
// Source: RFC 7693, M-J. Saarinen and J-P. Aumasson (2015).
#pragma once

#include <string_view>
#include <utility>

#include "simd/inline.h"

namespace dynaserve {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are taken as they lie in memory");

// A word of each of so many messages.
template <int lanes>
struct Blake2bWord {
    typedef std::uint64_t Type __attribute__((vector_size(8 * lanes)));
};
template <>
struct Blake2bWord<1> {
    using Type = std::uint64_t;
};

// Hashes messages of one size side by side.
template <int lanes>
class Blake2b {
  public:
    using Word = typename Blake2bWord<lanes>::Type;

    static constexpr std::size_t max_key = 64, digest_size = 16;

    // A key of 1 to 64 bytes.
    DYNASERVE_METHOD explicit Blake2b(std::string_view key) {
        for (int i = 0; i < 8; ++i) h_[i] = Word{} + iv[i];
        h_[0] ^= Word{} + (0x01010000 ^ key.size() << 8 ^ digest_size);
        for (auto& block : blocks_) std::memcpy(block, key.data(), key.size());
        held_ = block_size;
    }

    // Messages that begin as one did so far.
    DYNASERVE_METHOD explicit Blake2b(const Blake2b<1>& one) : size_(one.size_), held_(one.held_) {
        for (int i = 0; i < 8; ++i) h_[i] = Word{} + one.h_[i];
        for (auto& block : blocks_) std::memcpy(block, one.blocks_[0], held_);
    }

    // Go on with `size` bytes of each message; they lie `stride` bytes apart.
    DYNASERVE_METHOD void update(const char* p, std::size_t size, std::size_t stride = 0) {
        while (size > 0) {
            // The last block is another one: a full block waits until more comes.
            if (held_ == block_size) {
                absorb(0);
                held_ = 0;
            }
            const std::size_t room = block_size - held_, taken = size < room ? size : room;
            for (int i = 0; i < lanes; ++i) std::memcpy(blocks_[i] + held_, p + i * stride, taken);
            held_ += taken;
            p += taken;
            size -= taken;
        }
    }

    // Write the digests, one after another; nothing may follow.
    DYNASERVE_METHOD void finish(char* digests) {
        for (auto& block : blocks_) std::memset(block + held_, 0, block_size - held_);
        absorb(~std::uint64_t{0});
        for (std::size_t at = 0; at < digest_size; at += 8) {
            std::uint64_t word[lanes];
            std::memcpy(word, &h_[at / 8], sizeof word);
            for (int i = 0; i < lanes; ++i)
                std::memcpy(digests + i * digest_size + at, &word[i], 8);
        }
    }

  private:
    template <int>
    friend class Blake2b;

    static constexpr std::size_t block_size = 128;
    static constexpr std::uint64_t iv[8] = {
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

    template <int bits>
    DYNASERVE_INLINE Word rotated(Word x) {
        return x >> bits | x << (64 - bits);
    }

    DYNASERVE_INLINE void mix(Word& a, Word& b, Word& c, Word& d, Word x, Word y) {
        a += b + x, d = rotated<32>(d ^ a);
        c += d, b = rotated<24>(b ^ c);
        a += b + y, d = rotated<16>(d ^ a);
        c += d, b = rotated<63>(b ^ c);
    }

    template <int number>
    DYNASERVE_INLINE void round(Word (&v)[16], const Word (&m)[16]) {
        constexpr const std::uint8_t (&s)[16] = sigma[number % 10];
        mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
        mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
        mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
        mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
        mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
        mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
        mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
        mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
    }

    // The rounds are known when this is compiled, so that a word is found without looking it up.
    template <int... numbers>
    DYNASERVE_INLINE void rounds(Word (&v)[16], const Word (&m)[16],
                                 std::integer_sequence<int, numbers...>) {
        (round<numbers>(v, m), ...);
    }

    // Take in the blocks; `last` has all bits set for the last ones, and else none.
    DYNASERVE_METHOD void absorb(std::uint64_t last) {
        size_ += held_;
        Word m[16], v[16];
        for (int j = 0; j < 16; ++j) {
            std::uint64_t word[lanes];
            for (int i = 0; i < lanes; ++i) std::memcpy(&word[i], blocks_[i] + 8 * j, 8);
            std::memcpy(&m[j], word, sizeof word);
        }
        for (int i = 0; i < 8; ++i) v[i] = h_[i], v[8 + i] = Word{} + iv[i];
        v[12] ^= Word{} + size_;  // a message of 2^64 bytes fits nowhere
        v[14] ^= Word{} + last;
        rounds(v, m, std::make_integer_sequence<int, 12>());
        for (int i = 0; i < 8; ++i) h_[i] ^= v[i] ^ v[8 + i];
    }

    Word h_[8];
    std::uint64_t size_ = 0;
    std::size_t held_ = 0;
    char blocks_[lanes][block_size] = {};
};

// The digests of rows of `size` bytes that come one after another, each after what `common` has;
// as many rows as fill all lanes. Returns how many those are.
template <int lanes>
DYNASERVE_INLINE std::ptrdiff_t blake2b_rows(const Blake2b<1>& common, const char* data,
                                             std::size_t size, std::ptrdiff_t count,
                                             char* digests) {
    std::ptrdiff_t row = 0;
    for (; row + lanes <= count; row += lanes) {
        Blake2b<lanes> hash(common);
        hash.update(data + row * size, size, size);
        hash.finish(digests + row * Blake2b<lanes>::digest_size);
    }
    return row;
}

}  // namespace dynaserve
