// Each operation's file puts its kernels into the table; op_table.cpp calls them all. Beside each
// <operation>.cpp, which says what is launched, lies <operation>.comp, which says what every invocation does.
#pragma once

#include "kernels/fused_rows.h"
#include "kernels/op_table.h"

namespace parlance::vulkan {

// Rows of a step that are computed as if they were alone: see Device::most_alike_rows().
inline constexpr int64_t kMostAlikeRows = 64;

void fill_get_rows(OpTable& table);
void fill_rms_norm(OpTable& table);
void fill_add_rms_norm(OpTable& table);
void fill_matmul(OpTable& table);
void fill_rope_angles(OpTable& table);
void fill_rope(OpTable& table);
void fill_kv_write(OpTable& table);
void fill_kv_copy(OpTable& table);
void fill_kv_compress(OpTable& table);
void fill_norm_rope_write(OpTable& table);
void fill_attention(OpTable& table);
void fill_short_conv(OpTable& table);
void fill_gated_delta_net(OpTable& table);
void fill_split_gate(OpTable& table);
void fill_sigmoid_gate(OpTable& table);
void fill_gated_rms_norm(OpTable& table);
void fill_layer_norm(OpTable& table);
void fill_segment_attention(OpTable& table);
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
void fill_packed(OpTable& table);

// What the devices have beside the table, for a row alone: see fused_rows.h.
const Cell<FusedMatmulArgs>& fused_matmul(DType weights);
const Cell<FusedAttentionArgs>& fused_attention();

// The whole table (built once).
const OpTable& op_table();

}  // namespace parlance::vulkan
