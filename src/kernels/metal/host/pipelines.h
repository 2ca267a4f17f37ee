// Compiled kernels: libraries are made from the text when they are first wanted, one for each set of macros,
// and pipelines of these, one for each set of constants.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernels/metal/host/kernel_text.h"
#include "kernels/metal/host/objects.h"

namespace parlance::metal {

class Pipelines {
 public:
  explicit Pipelines(MtlDevice device) : device_(device) {}

  struct Pipeline {
    Owned<MtlPipeline> state;
    uint32_t n_threads = 0;  // of a threadgroup
  };

  // Threads may ask at once. The pipeline stays for as long as this does.
  Result<const Pipeline*> find(std::string_view shader, std::span<const uint32_t> constants);

 private:
  Result<Pipeline> make(std::string_view shader, std::span<const uint32_t> constants);
  Result<MtlLibrary> library(std::string_view shader, const KernelText& text,
                             std::span<const uint32_t> constants);

  MtlDevice device_;  // owned by the device that this is a part of
  std::mutex mutex_;
  std::map<std::string, KernelText, std::less<>> texts_;
  std::map<std::string, Owned<MtlLibrary>> libraries_;
  std::map<std::string, Pipeline> pipelines_;
};

}  // namespace parlance::metal
