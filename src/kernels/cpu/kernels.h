// Each operation's file puts its kernels for an instruction set into the table; dispatch.cpp calls them all.
#pragma once

#include "kernels/cpu/cpu_device.h"
#include "kernels/op_table.h"

namespace parlance {

void fill_get_rows(OpTable& table, Isa isa);
void fill_rms_norm(OpTable& table, Isa isa);
void fill_layer_norm(OpTable& table, Isa isa);
void fill_add_rms_norm(OpTable& table, Isa isa);
void fill_matmul(OpTable& table, Isa isa, bool deterministic);
void fill_rope_angles(OpTable& table, Isa isa);
void fill_rope(OpTable& table, Isa isa);
void fill_kv_write(OpTable& table, Isa isa);
void fill_kv_copy(OpTable& table);
void fill_norm_rope_write(OpTable& table, Isa isa);
void fill_attention(OpTable& table, Isa isa, bool deterministic);
void fill_segment_attention(OpTable& table, Isa isa);
void fill_short_conv(OpTable& table, Isa isa);
void fill_gated_delta_net(OpTable& table, Isa isa);
void fill_split_gate(OpTable& table, Isa isa);
void fill_sigmoid_gate(OpTable& table, Isa isa);
void fill_gated_rms_norm(OpTable& table, Isa isa);
void fill_im2col(OpTable& table, Isa isa);
void fill_col2im(OpTable& table, Isa isa);
void fill_put_channels(OpTable& table, Isa isa);
void fill_snake(OpTable& table, Isa isa);
void fill_elu(OpTable& table, Isa isa);
void fill_channel_norm(OpTable& table, Isa isa);
void fill_gelu(OpTable& table, Isa isa);
void fill_swiglu(OpTable& table, Isa isa);
void fill_argmax(OpTable& table, Isa isa);
void fill_top_logits(OpTable& table, Isa isa);
void fill_draw_tokens(OpTable& table);
void fill_add(OpTable& table, Isa isa);

// Up to how many rows of a product with such weights have the bits that each has alone.
int64_t most_alike_rows(Isa isa, bool deterministic, DType weights);

// Whether products with weights of a type read a PackedWeight where there is one.
bool reads_packed(Isa isa, DType weights);

// The whole table for an instruction set (built once each).
const OpTable& cpu_op_table(Isa isa, bool deterministic = false);

}  // namespace parlance
