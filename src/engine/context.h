// A model with memory for sequences: workspaces on its devices, the pages of their keys and values, the tree
// of what these hold, and the scheduler that has them computed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "engine/part_runner.h"
#include "engine/scheduler.h"
#include "engine/text_model.h"
#include "kv/cache.h"
#include "kv/model_hash.h"
#include "kv/page_pool.h"
#include "kv/policy.h"
#include "kv/prefix_tree.h"
#include "kv/recurrent_state.h"
#include "kv/snapshot_file.h"

namespace parlance {

class Drafter;

struct SessionOptions {
  int64_t n_ctx = 4096;   // of one sequence; 0: as long as the model was trained for
  int64_t n_batch = 512;  // tokens that go through the model together in prefill
  KvPolicy cache = {};
  int n_seq = 1;            // sequences that may be open at once
  int64_t n_cache = 0;      // positions that there are pages for, of all sequences; 0: n_ctx for each
  int64_t n_waiting = 256;  // requests that may wait beside those that run
  int64_t n_outputs = 1;    // most tokens of one call of append() whose logits are wanted
  // What proposes tokens for the model to verify several at once (engine/drafter.h), asked in this order: the
  // text itself (prompt lookup), a block drafter for this model, whose keys and values lie beside the
  // model's, and a smaller model with the same vocabulary (tokenizer/same_vocabulary.h), which gets a cache
  // for as many positions in f16.
  bool looks_up = false;
  std::shared_ptr<const Dflash> drafter = {};
  std::shared_ptr<const TextModel> draft_model = {};
  // For measurements: makes what stands in place of each of these, or, given null, of none.
  std::function<std::unique_ptr<Drafter>(std::unique_ptr<Drafter>)> replaces_drafter = {};
  bool writes_drafts = false;  // of another context's sequences: their last tokens may be taken back
  int64_t n_draft = 0;  // most tokens that are proposed for a sequence at once; 0: as the drafters like
  int64_t n_tree =
      -1;  // most nodes of a tree of drafted tokens; 0: drafts are chains, -1: as many as there may be
  int64_t n_layers_at_once =
      0;  // for tests: layers of a prompt between two steps of answers; 0: as there is time
  // Whether a step of answers is queued before it is known what the one before it yields: by what their
  // samplers will likely draw. None: where devices keep recordings of steps, and else wait for the host.
  std::optional<bool> goes_ahead = {};
  // Prompts go into batches as if nobody else were there, so that their numbers depend on nobody: they wait
  // for a step rather than have a part of it.
  bool batches_as_alone = false;
  bool takes_embeddings = false;  // append() may be given rows in place of tokens' embeddings
  // Room for drafts that are verified beside their prompt: see Session::append_with_draft().
  bool drafts_beside_prompts = false;
  // Pairs of no section of M-RoPE turn with the positions of such rows, and not at all for tokens: as
  // llama.cpp does it for audio. Else every pair turns with the position.
  bool sectioned_positions = false;
};

// The cache of a model's attention layers; of those among layers [first, end).
KvLayout kv_layout(const HyperParameters& hp, const SessionOptions& options);
KvLayout kv_layout(const HyperParameters& hp, const SessionOptions& options, int64_t first, int64_t end);

// Whether keys can be stored equalised: all devices must, since what is kept of a sequence is of all of them.
bool can_equalise(const Placement& placement);

// Says which model a file holds.
ModelHash hash_of(const GgufFile& file);

// The states of n_layer of its recurrent layers, for drafts of so many tokens.
RecurrentLayout recurrent_layout(const HyperParameters& hp, int64_t n_layer, int64_t n_draft);

// The most tokens that are proposed for a sequence at once, or by it; 0: nothing proposes any.
int64_t most_drafted(const SessionOptions& options);

// An error of something that drafts, which names the remedy too: where memory lacks, to draft nothing.
Error or_draft_nothing(Error error);

// Rows of the page tables: of sequences, of the filler of recorded steps, of branches of drafts, and those
// that sequences have for drafts beside their prompts.
int n_table_rows(const SessionOptions& options);

class Context {
 public:
  // Allocates cache and workspace. Errors: a context or format that does not fit, kernels that the device
  // lacks.
  static Result<std::shared_ptr<Context>> create(const TextModel& model, const SessionOptions& options);

  const TextModel& model() const { return model_; }
  const SessionOptions& options() const { return options_; }  // with what was left to the model filled in
  const KvLayout& layout() const { return layout_; }          // of all parts together
  std::span<const std::unique_ptr<PartRunner>> parts() const { return parts_; }
  PagePools& pools() { return *pools_; }
  PrefixTree& tree() { return *tree_; }
  Scheduler& scheduler() { return *scheduler_; }
  // Whether pieces of prompts may pause between layers.
  bool can_pause() const { return parts_.front()->can_pause(); }
  // Of a model on one device whose memory can be gone back from, and nobody drafts for.
  bool goes_ahead() const { return goes_ahead_; }
  size_t state_bytes() const;  // of the recurrent layers of one sequence; 0 when there are none
  // Of the recurrent layers of all sequences, and of what is kept to take drafted tokens back.
  size_t recurrent_bytes() const;
  // Tokens of a sequence whose inputs to recurrent layers are kept (Recurrence::kept); 0: none are.
  int64_t n_kept_inputs() const { return n_kept_inputs_; }
  size_t workspace_bytes() const;
  size_t kv_bytes() const { return layout_.bytes(n_pages_); }  // of all pages
  size_t page_bytes(PageKind kind) const;                      // of one page, the drafter's share included
  size_t draft_bytes() const;                                  // of the drafters', beside them
  const std::shared_ptr<Context>& draft_context() const { return draft_context_; }  // of a draft model

  // A row of the page tables, given back at the end of a session. An error when all are taken.
  Result<int> open_sequence();
  void close_sequence(int seq);

  // The same for a branch of a draft, while it is verified; -1 when all are taken.
  int open_branch();
  void close_branch(int seq);

  // Up to how many rows of a sequence are computed as each would be alone, whatever else is in the step.
  int64_t most_alike_rows() const;
  // Tokens of a draft that are verified beside its prompt, at most: 0 where what memory holds depends on how
  // many tokens have been computed.
  int64_t most_beside_prompt() const;
  // A second row of the page tables with the pages of the sequence `seq`: attention takes rows of a step that
  // have it for those of another sequence with few tokens. -1: there is none.
  int row_beside(int seq) const;

  // What a snapshot must have been made for to be of use here.
  SnapshotIdentity snapshot_identity() const;
  SnapshotRefusals& snapshot_refusals() { return refusals_; }
  const SnapshotRefusals& snapshot_refusals() const { return refusals_; }

 private:
  Context(const TextModel& model, const SessionOptions& options) : model_(model), options_(options) {}
  Result<void> allocate();
  Result<void> settle_drafting();
  void settle_equaliser();
  Result<void> open_draft_context();

  const TextModel& model_;
  SessionOptions options_;
  KvLayout layout_;
  PageCounts n_pages_;
  int64_t n_kept_inputs_ = 0;
  bool goes_ahead_ = false;
  std::vector<std::unique_ptr<PartRunner>> parts_;
  std::unique_ptr<PagePools> pools_;
  std::unique_ptr<PrefixTree> tree_;
  std::mutex sequences_mutex_;
  std::vector<int> free_sequences_;
  std::vector<int> free_branches_;
  SnapshotRefusals refusals_;
  std::shared_ptr<Context> draft_context_;
  std::unique_ptr<Scheduler> scheduler_;  // ends first
};

}  // namespace parlance
