// The one place where the table of the Vulkan devices is put together.
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

const OpTable& op_table() {
  static const OpTable table = [] {
    OpTable filled;
    filled.transforms_kv = true;
    fill_get_rows(filled);
    fill_rms_norm(filled);
    fill_add_rms_norm(filled);
    fill_matmul(filled);
    fill_rope_angles(filled);
    fill_rope(filled);
    fill_kv_write(filled);
    fill_kv_copy(filled);
    fill_kv_compress(filled);
    fill_norm_rope_write(filled);
    fill_attention(filled);
    fill_short_conv(filled);
    fill_gated_delta_net(filled);
    fill_split_gate(filled);
    fill_sigmoid_gate(filled);
    fill_gated_rms_norm(filled);
    fill_layer_norm(filled);
    fill_segment_attention(filled);
    fill_im2col(filled);
    fill_col2im(filled);
    fill_put_channels(filled);
    fill_snake(filled);
    fill_elu(filled);
    fill_channel_norm(filled);
    fill_gelu(filled);
    fill_swiglu(filled);
    fill_argmax(filled);
    fill_top_logits(filled);
    fill_draw_tokens(filled);
    fill_add(filled);
    fill_packed(filled);
    return filled;
  }();
  return table;
}

}  // namespace parlance::vulkan
