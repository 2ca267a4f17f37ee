// Any bytes as a block drafter's file: refused with one line that names the file, or a drafter that fits its
// target, in memory in proportion to their number.
#include <cstdint>
#include <memory>

#include "allocations.h"
#include "kernels/cpu/cpu_device.h"
#include "models/dflash.h"

namespace {

using namespace parlance;
using parlance::fuzz::require;

constexpr int64_t kEmbd = 8, kVocab = 20, kLayers = 4;

// As much of a target as a drafter is held against.
class Target final : public Model {
 public:
  explicit Target(Device& device) : placement_(device, kLayers) {
    hp_.n_embd = kEmbd;
    hp_.n_layer = kLayers;
  }
  Outputs forward(Stream&, const Batch&, const SequenceMemory&, const Wants&,
                  const LayerRange&) const override {
    return {};
  }
  const Placement& placement() const override { return placement_; }
  const HyperParameters& hyper_parameters() const override { return hp_; }
  int64_t n_vocab() const override { return kVocab; }
  const Tensor& token_embd() const override { return nothing_; }
  const Linear& output() const override { return output_; }

 private:
  Placement placement_;
  HyperParameters hp_;
  Tensor nothing_;
  Linear output_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<Device> device = std::move(*make_cpu_device({.n_threads = 1}));
  static const Target target(*device);
  const auto file = GgufFile::parse(std::as_bytes(std::span(data, size)), "input");
  if (!file) return 0;
  const auto drafter = Dflash::load(*file, target);
  if (!drafter) {
    const std::string& message = drafter.error().message;
    require(message.size() < 1000, "messages are short");
    require(message.find("input") != std::string::npos, "messages name the file");
    for (const char c : message) require(c >= ' ' && c <= '~', "messages are one line of plain text");
    return 0;
  }
  const DflashParameters& p = (*drafter)->parameters();
  require(p.layers.n_embd == kEmbd, "the width is the target's");
  require(p.block_size >= 2 && p.mask_token >= 0 && p.mask_token < kVocab, "blocks can be made");
  for (const int64_t layer : p.target_layers)
    require(layer >= 0 && layer < kLayers, "its layers are the target's");
  return 0;
}
