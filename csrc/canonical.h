// The one form of a query's bytes, whatever the strides and the byte order of the array that holds
// it: C order, little-endian, one zero and one NaN, so that equal queries have equal bytes.
//
// It works on bits, for float arithmetic would depend on the processor's flush-to-zero mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace dynaserve {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "what is native must be little-endian");

// How the bits of an IEEE 754 number are laid out in an unsigned integer of its size.
template <class Bits, int fraction_bits>
struct FloatBits {
    using Unsigned = Bits;
    static constexpr Bits sign = Bits{1} << (std::numeric_limits<Bits>::digits - 1);
    static constexpr Bits quiet = Bits{1} << (fraction_bits - 1);
    static constexpr Bits infinity = (sign - 1) & ~((quiet << 1) - 1);

    static constexpr Bits canonical(Bits bits) {
        if (bits == sign) return 0;
        return (bits & (sign - 1)) > infinity ? Bits(infinity | quiet) : bits;
    }
};
using Float16Bits = FloatBits<std::uint16_t, 10>;
using Float32Bits = FloatBits<std::uint32_t, 23>;
using Float64Bits = FloatBits<std::uint64_t, 52>;

// `size` bytes of native little-endian floats, in place.
template <class Layout>
void canonical_floats(char* bytes, std::size_t size) {
    using Bits = typename Layout::Unsigned;
    for (std::size_t at = 0; at < size; at += sizeof(Bits)) {
        Bits bits;
        std::memcpy(&bits, bytes + at, sizeof(Bits));
        bits = Layout::canonical(bits);
        std::memcpy(bytes + at, &bits, sizeof(Bits));
    }
}

}  // namespace dynaserve
