// A weight as a model has it: imported by a device, whose products may read a copy of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/os/huge_pages.h"
#include "kernels/device.h"

namespace parlance::test {

class ImportedTensor {
 public:
  ImportedTensor(Device& device, const Tensor& weight)
      : bytes_(weight.data, weight.data + weight.size()),
        buffer_(*device.import_weights(bytes_)),
        tensor_(weight),
        copy_() {
    tensor_.data = buffer_->base();
    tensor_.buffer = buffer_.get();
    copy_ = device.copy_for_products(tensor_);
  }
  ImportedTensor(const ImportedTensor&) = delete;
  ImportedTensor& operator=(const ImportedTensor&) = delete;

  const Tensor& tensor() const { return tensor_; }
  bool has_copy() const { return copy_.has_value(); }

  void make_copy(bool stops = false) {
    constexpr size_t kAlignment = 4096;
    const auto pages = std::make_shared<const OwnPages>(*OwnPages::map(copy_->n_bytes, kAlignment));
    copy_->make(pages->bytes().first(copy_->n_bytes), pages, std::atomic<bool>(stops));
  }
  // Whoever reads the weight after this reads its copy.
  void spoil() { std::ranges::fill(bytes_, std::byte{0x7f}); }

 private:
  std::vector<std::byte> bytes_;
  std::unique_ptr<Buffer> buffer_;
  Tensor tensor_;
  std::optional<OwnCopy> copy_;
};

}  // namespace parlance::test
