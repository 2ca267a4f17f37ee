// f16 to f32, exact for subnormals too: unpackHalf2x16() may flush those to zero where they matter most, in
// the steps of blocks. (Single values of f16 rows are unpacked with it: what a driver flushes there is below
// 2^-14.)
float f32_from_f16(uint half_bits) {
  const uint sign = (half_bits & 0x8000) << 16;
  const uint magnitude = half_bits & 0x7fff;
  const uint subnormal = floatBitsToUint(float(magnitude) * 5.9604644775390625e-8);  // 2^-24
  const uint exponent_offset = magnitude < 0x7c00 ? 112u << 23 : 224u << 23;
  return uintBitsToFloat(sign | (magnitude < 0x400 ? subnormal : (magnitude << 13) + exponent_offset));
}
