// Lists of integers that a step reads (tokens, positions, ...), in host memory and on the device. They lie
// side by side, each with room for as many as the step has, so that all of them go to the device at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/checked.h"
#include "base/result.h"
#include "kernels/device.h"

namespace parlance {

class InputLists {
 public:
  InputLists() = default;  // none
  // An error when the device has no memory for them.
  static Result<InputLists> create(Device& device, int n_lists, int64_t length) {
    InputLists lists;
    lists.n_lists_ = n_lists;
    lists.set_length(length);
    lists.host_.resize(static_cast<size_t>(n_lists * lists.length_));
    PARLANCE_TRY(lists.buffer_, device.allocate(lists.host_.size() * sizeof(int32_t)));
    return lists;
  }

  // From now on lists have room for so many, up to those that they were made for, and a few where they begin
  // at a multiple of kAlignment.
  static constexpr int64_t kAlignment = 4;
  void set_length(int64_t length) { length_ = align_up(length, kAlignment); }

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
    const int64_t n = n_lists_ * length_;
    stream.upload(on_device(0, n), std::as_bytes(std::span(host_).first(static_cast<size_t>(n))));
  }

 private:
  int64_t n_lists_ = 0, length_ = 0;
  std::vector<int32_t> host_;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace parlance
