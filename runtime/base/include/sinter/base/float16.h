// Conversions between float and the 16-bit floats, by bits. Rounding is to
// nearest even; NaN stays NaN (quiet), overflow becomes infinity.
#pragma once

#include <bit>
#include <cstdint>

namespace sinter {

float halfToFloat(uint16_t half); ///< IEEE 754 binary16
uint16_t floatToHalf(float value);

inline float bfloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
uint16_t floatToBFloat16(float value);

} // namespace sinter
