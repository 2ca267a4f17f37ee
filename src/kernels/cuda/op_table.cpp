// The one place where the CUDA kernels' table is put together.
#include "kernels/cuda/kernels.h"

namespace parlance::cuda {

namespace {

OpTable make_table() {
  OpTable table;
  table.transforms_kv = table.equalises_kv = table.turns_segment_heads = true;
  fill_get_rows(table);
  fill_rms_norm(table);
  fill_layer_norm(table);
  fill_add_rms_norm(table);
  fill_matmul(table);
  fill_rope_angles(table);
  fill_rope(table);
  fill_kv_write(table);
  fill_kv_copy(table);
  fill_kv_compress(table);
  fill_norm_rope_write(table);
  fill_attention(table);
  fill_segment_attention(table);
  fill_short_conv(table);
  fill_gated_delta_net(table);
  fill_split_gate(table);
  fill_sigmoid_gate(table);
  fill_gated_rms_norm(table);
  fill_im2col(table);
  fill_col2im(table);
  fill_put_channels(table);
  fill_snake(table);
  fill_elu(table);
  fill_channel_norm(table);
  fill_gelu(table);
  fill_swiglu(table);
  fill_argmax(table);
  fill_top_logits(table);
  fill_draw_tokens(table);
  fill_add(table);
  fill_maskgit_step(table);
  fill_packed(table);
  return table;
}

}  // namespace

const OpTable& op_table() {
  static const OpTable table = make_table();
  return table;
}

}  // namespace parlance::cuda
