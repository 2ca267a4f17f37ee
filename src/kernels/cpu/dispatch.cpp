// The one place where the CPU's kernel tables are put together.
#include "kernels/cpu/kernels.h"

namespace parlance {

namespace {

constexpr size_t kIsaCount = static_cast<size_t>(Isa::neon_i8mm) + 1;

std::array<OpTable, kIsaCount> make_tables(bool deterministic) {
  std::array<OpTable, kIsaCount> tables;
  for (size_t i = 0; i < kIsaCount; ++i) {
    const Isa isa = static_cast<Isa>(i);
    fill_get_rows(tables[i], isa);
    fill_rms_norm(tables[i], isa);
    fill_layer_norm(tables[i], isa);
    fill_add_rms_norm(tables[i], isa);
    fill_matmul(tables[i], isa, deterministic);
    fill_rope_angles(tables[i], isa);
    fill_rope(tables[i], isa);
    fill_kv_write(tables[i], isa);
    fill_kv_copy(tables[i]);
    fill_norm_rope_write(tables[i], isa);
    fill_attention(tables[i], isa, deterministic);
    fill_segment_attention(tables[i], isa);
    fill_short_conv(tables[i], isa);
    fill_gated_delta_net(tables[i], isa);
    fill_split_gate(tables[i], isa);
    fill_sigmoid_gate(tables[i], isa);
    fill_gated_rms_norm(tables[i], isa);
    fill_im2col(tables[i], isa);
    fill_col2im(tables[i], isa);
    fill_put_channels(tables[i], isa);
    fill_snake(tables[i], isa);
    fill_elu(tables[i], isa);
    fill_channel_norm(tables[i], isa);
    fill_gelu(tables[i], isa);
    fill_swiglu(tables[i], isa);
    fill_argmax(tables[i], isa);
    fill_top_logits(tables[i], isa);
    fill_draw_tokens(tables[i]);
    fill_add(tables[i], isa);
  }
  return tables;
}

}  // namespace

const OpTable& cpu_op_table(Isa isa, bool deterministic) {
  static const std::array<OpTable, kIsaCount> tables[2] = {make_tables(false), make_tables(true)};
  return tables[deterministic ? 1 : 0][static_cast<size_t>(isa)];
}

}  // namespace parlance
