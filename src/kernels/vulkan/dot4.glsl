// The dot product of four signed bytes with four others. With PARLANCE_INTEGER_DOT it is one instruction, on
// devices with VK_KHR_shader_integer_dot_product; PARLANCE_EMULATED_DOT is for languages that have no such thing.
#if defined(PARLANCE_INTEGER_DOT) && !defined(PARLANCE_EMULATED_DOT)

#extension GL_EXT_spirv_intrinsics : require
// OpSDot with the capabilities DotProductInput4x8BitPacked and DotProduct; format 0 is
// PackedVectorFormat4x8Bit.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int packed_dot(uint a, uint b, spirv_literal int format);
int dot4(uint a, uint b) { return packed_dot(a, b, 0); }

#else

#extension GL_EXT_control_flow_attributes : require

int dot4(uint a, uint b) {
  int sum = 0;
  [[unroll]] for (int shift = 0; shift < 32; shift += 8) {
    sum += bitfieldExtract(int(a), shift, 8) * bitfieldExtract(int(b), shift, 8);
  }
  return sum;
}

#endif
