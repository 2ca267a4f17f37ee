// What a block drafter needs on the device of its model's last layers: keys and values in the same pages as
// the model's, and the inputs of its passes.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/input_lists.h"
#include "kv/cache.h"
#include "models/dflash.h"

namespace parlance {

struct SessionOptions;

// Blocks in host memory: of each slot the token, whose it is, where it stands, and the positions that it
// sees: the last one of its block, and the first one in a layer with a window.
struct HostBlocks {
  std::vector<int32_t> token, seq, pos, seen, first;
  std::vector<int32_t> row;  // slots that are asked for
  int64_t n_choices = 0;  // of these: the likeliest tokens with their probabilities; 0: logits in their place
  int64_t n_kv_bound = 0;  // no position reaches it

  int64_t n_slots() const { return static_cast<int64_t>(token.size()); }
};

// The cache of a drafter's layers, cut into pages as its model's.
KvLayout draft_layout(const Dflash& drafter, const SessionOptions& options);

class DraftPart {
 public:
  static Result<std::unique_ptr<DraftPart>> create(Device& device, const SessionOptions& options,
                                                   PageCounts n_pages);

  KvCache& cache() { return *cache_; }

  // For a step of the model. To be asked for before the step, since tables are uploaded.
  const KvLayers& layers(Stream& stream) { return cache_->layers(stream); }

  // Stores as much of `noise` as there is as keys and values of every layer.
  void write_noise(Stream& stream, const Tensor& noise, const BatchView& view);

  // In a dry run: what draft() needs at most.
  void plan(Stream& stream, int64_t n_kv_bound);

  // Logits f32 [n_vocab, n_rows] of the slots that are asked for, or tokens i32 [2 n_choices, n_rows]
  // (top_k_with_probability()), on the device until the next step.
  Tensor draft(Stream& stream, const HostBlocks& blocks);

 private:
  // How large the tensors of a pass are; passes of one shape are one recording.
  struct Shape {
    int64_t n_slots, n_rows, n_kv_bound, n_choices;
    bool is_recorded;
    uint64_t key() const;
  };

  DraftPart(std::shared_ptr<const Dflash> drafter, int64_t n_seq, int64_t n_slots)
      : drafter_(std::move(drafter)), n_seq_(n_seq), n_slots_(n_slots) {}
  Shape shape_of(const Stream& stream, const HostBlocks& blocks) const;
  void upload(Stream& stream, const HostBlocks& blocks, const Shape& shape);
  Tensor pass(Stream& stream, const Shape& shape, const KvLayers& kv) const;
  Dflash::Blocks blocks_of(const Shape& shape) const;

  std::shared_ptr<const Dflash> drafter_;
  int64_t n_seq_;           // also the number of the sequence that fills up recorded passes
  int64_t n_slots_;         // at most
  int64_t n_kv_bound_ = 0;  // of the whole context
  std::unique_ptr<KvCache> cache_;
  InputLists inputs_;
  std::unordered_map<uint64_t, Tensor> outputs_;  // by key: where a recorded pass leaves its result
};

}  // namespace parlance
