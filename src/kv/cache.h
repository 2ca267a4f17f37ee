// The KV cache of one device: the memory of its pages, and the tables in which kernels look pages up. Which
// page holds what is decided elsewhere, see sequence_pages.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernels/device.h"
#include "kernels/kv_view.h"
#include "kv/page_pool.h"
#include "kv/policy.h"
#include "kv/sequence_pages.h"
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
  size_t bytes_per_token() const;        // of all layers, in the formats of the policy
  size_t exact_bytes_per_token() const;  // in exact pages
  size_t page_bytes(PageKind kind) const;

  // Whole pages.
  int64_t n_sink_pages() const;
  PageRules page_rules() const {
    return {policy.has_exact_pages() ? PageKind::exact : PageKind::main, n_sink_pages()};
  }
  // The pages that sequences of up to n_ctx positions, n_seq of them, need when they are computed in batches.
  PageCounts n_pages(int64_t n_ctx, int n_seq, int64_t n_batch) const;
  size_t bytes(PageCounts n_pages) const;

  // The formats and sizes in words, for those who keep bytes of pages.
  std::string description() const;
};

// An error in words when a format does not fit the model's head size.
Result<void> validate(const KvLayout& layout);

class KvCache {
 public:
  // Pages for up to n_seq sequences of n_ctx positions at most. Memory is reserved now and, on the CPU, taken
  // from the system as pages are first written.
  static Result<std::unique_ptr<KvCache>> create(Device& device, const KvLayout& layout, PageCounts n_pages,
                                                 int64_t n_ctx, int n_seq);

  const KvLayout& layout() const { return layout_; }

  // Where the positions of a sequence are: `pages` in order; of those from main_first to main_end - 1 the
  // main ones are read, of the others the exact ones. Without exact pages all are main.
  void set_pages(int seq, std::span<const PageRef> pages, int32_t main_first, int32_t main_end);

  // What kernels read. The tables are uploaded first if they changed.
  const KvLayers& layers(Stream& stream);

  // Copies the whole page, so that what is written behind its first positions harms nobody.
  void copy_page(Stream& stream, const PageCopy& copy);

  // These pages, and no later ones yet, are written soon for the first time: takes some of their memory from
  // the system, somewhat more than n_tokens positions need, so that a step which begins pages of many
  // sequences need not wait for all of it. Repeated calls take the rest, and up to kTakenAtOnce more of each
  // layer.
  void take_memory_ahead(Stream& stream, PageKind kind, PagePool::Range pages, int64_t n_tokens);

  // Brings exact pages into main ones.
  struct Move {
    int32_t exact;
    int32_t main;
  };
  void compress(Stream& stream, std::span<const Move> moves);
  void plan_compress(Stream& stream);  // in a dry run: what compress() needs

  // The first n_tokens positions of a page, all layers, from and to host memory of page_bytes(kind); what
  // lies behind them is zero.
  Result<void> save_page(Stream& stream, PageKind kind, int32_t page, int64_t n_tokens,
                         std::span<std::byte> bytes);
  void restore_page(Stream& stream, PageKind kind, int32_t page, std::span<const std::byte> bytes);

 private:
  // A table for kernels, and its copy on the host.
  struct Table {
    std::unique_ptr<Buffer> buffer;
    Tensor tensor;
    std::vector<int32_t> host;
    bool changed = true;

    Result<void> allocate(Device& device, int64_t n, int n_seq);
    void set(size_t at, int32_t value);
    void upload(Stream& stream);
  };

  // What is taken from the system in one piece: a huge page, where it has them.
  static constexpr size_t kTakenAtOnce = size_t{2} << 20;

  KvCache() = default;
  Result<std::vector<KvView>> allocate_pages(Device& device, PageKind kind, int32_t n_pages);
  const KvView& view(PageKind kind, int64_t layer) const;
  Tensor move_list(size_t n_moves) const;
  Result<void> equalise(Device& device, std::span<KvView> views);

  KvLayout layout_;
  std::vector<std::unique_ptr<Buffer>> memory_;  // of as many layers each as the device gives in one piece
  Table page_table_, exact_table_, main_pages_;
  std::unique_ptr<Buffer> moves_;
  std::vector<std::unique_ptr<Buffer>> equalisers_;  // of each layer, where keys are equalised
  std::vector<KvView> exact_views_;
  KvLayers layers_;
  std::array<int64_t, kPageKinds.size()> n_taken_ = {};  // stretches, by kind; see take_memory_ahead()
};

}  // namespace parlance
