// Lists of integers that a step reads (tokens, positions, ...), in host memory and on the device. They lie
// side by side, each with room for as many, so that all of them go to the device at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/device.h"

namespace parlance {

class InputLists {
 public:
  InputLists() = default;  // none
  // An error when the device has no memory for them.
  static Result<InputLists> create(Device& device, int n_lists, int64_t length) {
    InputLists lists;
    lists.length_ = length;
    lists.host_.resize(static_cast<size_t>(n_lists * length));
    PARLANCE_TRY(lists.buffer_, device.allocate(lists.host_.size() * sizeof(int32_t)));
    return lists;
  }

  // From the beginning of a list on; those that follow lie behind it.
  std::span<int32_t> host(int list) { return std::span(host_).subspan(static_cast<size_t>(list * length_)); }
  // i32 [n], from the beginning of a list on.
  Tensor on_device(int list, int64_t n) const {
    Tensor tensor;
    tensor.dtype = DType::i32;
    tensor.ne = {n, 1, 1, 1};
    tensor.buffer = buffer_.get();
    tensor.data = buffer_->base() + static_cast<size_t>(list * length_) * sizeof(int32_t);
    return tensor;
  }
  void upload(Stream& stream) const {
    stream.upload(on_device(0, static_cast<int64_t>(host_.size())), std::as_bytes(std::span(host_)));
  }

 private:
  int64_t length_ = 0;
  std::vector<int32_t> host_;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace parlance
