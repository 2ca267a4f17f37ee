// im2col with Vulkan: one invocation per value of the columns.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct Im2colPush {
  uint32_t n;
  uint32_t x_first, out_first;
  uint32_t n_all, width, height;
  uint32_t first_channel, n_channel;
  uint32_t window_width, window_height;
  uint32_t stride_x, stride_y;
  uint32_t pad_x, pad_y, dilation_x;
  uint32_t out_width, first_place;
};

void run_im2col(Stream& s, const Im2colArgs& args) {
  const int64_t n = args.out.n_elements();
  const Conv2dWindow& window = args.window;
  const auto number = [](int64_t value) { return static_cast<uint32_t>(value); };
  const Im2colPush push{.n = number(n),
                        .x_first = word_offset(args.x),
                        .out_first = word_offset(args.out),
                        .n_all = number(args.x.ne[0]),
                        .width = number(args.x.ne[1]),
                        .height = number(args.x.ne[2]),
                        .first_channel = number(args.first_channel),
                        .n_channel = number(args.n_channel),
                        .window_width = number(window.width),
                        .window_height = number(window.height),
                        .stride_x = number(window.stride_x),
                        .stride_y = number(window.stride_y),
                        .pad_x = number(window.pad_x),
                        .pad_y = number(window.pad_y),
                        .dilation_x = number(window.dilation_x),
                        .out_width = number(window.out_width(args.x.ne[1])),
                        .first_place = number(args.first_place)};
  dispatch(s, "im2col", {}, {operand_of(args.x), operand_of(args.out)}, push, groups_for(n));
}

}  // namespace

void fill_im2col(OpTable& table) {
  table.im2col = {run_im2col};
}

}  // namespace parlance::vulkan
