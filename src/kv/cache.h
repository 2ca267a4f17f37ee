// The KV cache: pages of one device buffer, handed out to sequences as they grow. Knows the layout of its
// bytes and which pages a sequence holds; nothing of tokens, prompts or eviction.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernels/device.h"
#include "kernels/kv_view.h"
#include "kv/policy.h"
#include "quant/kv_format.h"

namespace parlance {

// What a model says of its keys and values, and how the user wants them kept.
struct KvLayout {
  int64_t n_layer = 0;  // that have keys and values; may be none
  int64_t n_head_kv = 0;
  int64_t head_dim_k = 0;
  int64_t head_dim_v = 0;
  KvPolicy policy = {};
  int32_t page_tokens = 64;

  LayerCoding coding(int64_t layer) const { return policy.layer(layer, n_layer); }
  size_t layer_bytes_per_token(const LayerCoding& coding) const;
  size_t bytes_per_token() const;  // of all layers, in the formats of the policy
  size_t page_bytes() const { return bytes_per_token() * static_cast<size_t>(page_tokens); }
};

// An error in words when a format does not fit the model's head size.
Result<void> validate(const KvLayout& layout);

class KvCache {
 public:
  // Room for n_ctx positions in all, shared by up to n_seq sequences. Memory is reserved now and, on the CPU,
  // taken from the system as pages are first written.
  static Result<std::unique_ptr<KvCache>> create(Device& device, const KvLayout& layout, int64_t n_ctx,
                                                 int n_seq);

  const KvLayout& layout() const { return layout_; }
  int64_t capacity() const { return static_cast<int64_t>(n_pages_) * layout_.page_tokens; }  // positions

  // Gives the sequence pages for positions [0, n_tokens). An out_of_memory error leaves it as it was.
  Result<void> grow(int seq, int64_t n_tokens);
  // Keeps positions [0, n_tokens) and returns the pages behind them.
  void truncate(int seq, int64_t n_tokens);

  // What kernels read. The page table is uploaded first if it changed.
  const KvLayers& layers(Stream& stream);

 private:
  KvCache() = default;
  Result<std::vector<KvView>> allocate_layers(Device& device, int64_t n_pages);

  KvLayout layout_;
  int n_pages_ = 0;
  int max_pages_per_seq_ = 0;
  std::vector<std::unique_ptr<Buffer>> pages_;  // of as many layers each as the device gives in one piece
  std::unique_ptr<Buffer> table_;
  std::vector<int32_t> host_table_;         // [n_seq][max_pages_per_seq]
  std::vector<std::vector<int32_t>> held_;  // pages of each sequence, in order of position
  std::vector<int32_t> free_;
  bool table_changed_ = true;
  KvLayers layers_;
};

}  // namespace parlance
