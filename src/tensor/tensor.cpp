#include "tensor/tensor.h"

#include <fmt/core.h>

namespace parlance {

std::string describe(const Tensor& tensor) {
  int n_dims = 4;
  while (n_dims > 1 && tensor.ne[n_dims - 1] == 1) --n_dims;
  std::string text = fmt::format("{} [", name_of(tensor.dtype));
  for (int i = 0; i < n_dims; ++i) text += fmt::format("{}{}", i ? ", " : "", tensor.ne[i]);
  return text + "]";
}

}  // namespace parlance
