// Each operation's file puts its kernels into the table; op_table.cpp calls them all.
#pragma once

#include "kernels/cuda/runtime/launch.h"
#include "kernels/fused_mlp.h"
#include "kernels/fused_rows.h"

namespace parlance::cuda {

void fill_get_rows(OpTable& table);
void fill_rms_norm(OpTable& table);
void fill_layer_norm(OpTable& table);
void fill_add_rms_norm(OpTable& table);
void fill_matmul(OpTable& table);
void fill_rope_angles(OpTable& table);
void fill_rope(OpTable& table);
void fill_kv_write(OpTable& table);
void fill_kv_copy(OpTable& table);
void fill_kv_compress(OpTable& table);
void fill_norm_rope_write(OpTable& table);
void fill_attention(OpTable& table);
void fill_segment_attention(OpTable& table);
void fill_short_conv(OpTable& table);
void fill_gated_delta_net(OpTable& table);
void fill_split_gate(OpTable& table);
void fill_sigmoid_gate(OpTable& table);
void fill_gated_rms_norm(OpTable& table);
void fill_im2col(OpTable& table);
void fill_col2im(OpTable& table);
void fill_put_channels(OpTable& table);
void fill_snake(OpTable& table);
void fill_elu(OpTable& table);
void fill_channel_norm(OpTable& table);
void fill_gelu(OpTable& table);
void fill_swiglu(OpTable& table);
void fill_argmax(OpTable& table);
void fill_top_logits(OpTable& table);
void fill_draw_tokens(OpTable& table);
void fill_add(OpTable& table);
void fill_maskgit_step(OpTable& table);
void fill_packed(OpTable& table);

// The whole table (built once).
const OpTable& op_table();

// Beside it, see fused_ops.h; absent for types that no kernel multiplies.
const Cell<FusedMatmulArgs>& fused_matmul(DType weights);
const Cell<FusedAttentionArgs>& fused_attention();

// See FusesMlps.
const Cell<FusedMlpArgs>* fused_mlp(const Gpu& gpu, const FusedMlpArgs& args);

}  // namespace parlance::cuda
