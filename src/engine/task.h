// Something that the scheduler computes for a sequence, step by step, until it has enough.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/draft_length.h"
#include "engine/runner.h"
#include "engine/sequence.h"
#include "engine/work.h"
#include "sampling/draft_sampler.h"

namespace parlance {

// Outputs of a step whose highest logits are known, all of them numbers; the others are where they were
// computed.
class TopRows {
 public:
  TopRows(Runner& runner, int64_t first, int64_t n) : runner_(runner), first_(first), n_(n) {}

  int64_t size() const { return n_; }
  TopLogits top(int64_t i) const { return *runner_.top(first_ + i); }
  // All logits of some, valid until the next call. Error: the device has failed.
  Result<std::span<const float>> logits(int64_t i, int64_t n = 1) {
    was_asked_ = true;
    return runner_.logits(first_ + i, n);
  }
  bool was_asked() const { return was_asked_; }  // for all logits of any

 private:
  Runner& runner_;
  int64_t first_, n_;
  bool was_asked_ = false;
};

// While a task is with the scheduler, its sequence is the scheduler's. What is virtual is called on the
// thread that computes.
class Task {
 public:
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // Whether it has ended, well or not. From any thread; what the task then holds may be read.
  bool is_done() const { return is_done_.load(std::memory_order_acquire); }

 protected:
  Task(Sequence& sequence, const Work& work) : sequence_(&sequence), work_(work) {}
  // For a sequence of its own, as soon as the context has room for one.
  Task(std::shared_ptr<Context> context, const Work& work) : context_(std::move(context)), work_(work) {}

  bool has_sequence() const { return sequence_ != nullptr; }
  Sequence& sequence() const { return *sequence_; }

  // A prompt that was checked, to be put in place of the sequence's tokens before anything is computed; or
  // none.
  std::vector<Token> prompt_;
  // The last tokens of the sequence whose outputs are wanted when all is computed.
  int64_t n_outputs_ = 1;
  // Of these, the last ones, which are a draft beside its prompt: each is computed as if it were a step of
  // its own. No more than Context::most_beside_prompt().
  int64_t n_beside_ = 0;
  // Those of the prompt's last token, where they are known already: if all else of it is, too, they are taken
  // as if they had just been computed. Else empty.
  std::vector<float> known_outputs_;
  bool wants_logits_ = true;       // else what embeddings are pooled from
  bool does_with_tokens_ = false;  // of logits, it needs to know but which is the largest,
  bool does_with_top_ = false;     // or mostly but the highest

  // How many tokens it would have proposed behind the sequence's last, for the model to verify; 0: none. What
  // is proposed, by whichever drafter, is given to take_draft(), which appends it and asks for outputs.
  struct DraftWish {
    int64_t most = 0, least = 0;  // fewer than the least are none
    float least_probability = 0;
    bool is_required = false;  // even where it does not pay
    bool is_endless = false;   // an end-of-turn token does not end the answer
    int64_t n_tree = 0;        // most nodes of a tree, where that is worth more than a chain; 0: chains only
    bool is_tree_required = false;  // a tree even where it is not
    DraftSampler* sampler = nullptr;
    // Of a draft that was not drawn, the chance by the drafter's own word that all tokens up to one are
    // taken: behind the last one with so much, nothing is verified.
    float least_reach = 0;
  };

 private:
  friend class Scheduler;
  friend class StepPlan;
  friend class Proposals;

  enum class Stage : uint8_t {
    waiting,    // for a sequence, for what another task computes of its prompt, or for memory
    prompt,     // being computed, in as many pieces as it takes
    answering,  // a few tokens at a time
  };

  // The wanted outputs [n, n_rows], in order of position, in as many calls as it takes.
  virtual void take(std::span<const float> rows, int64_t n_rows) = 0;
  // In place of them the most likely token of each, if that will do.
  virtual void take_tokens(std::span<const Token> /*tokens*/) {}
  // In place of them the highest logits of each, if these may do. Error: of `rows`.
  virtual Result<void> take_top(TopRows& /*rows*/) { return {}; }
  // All tokens of the sequence have been computed. Whether there are more now.
  virtual bool computed() = 0;
  // It is computed from now on; before, it waited.
  virtual void begun() {}
  // What was taken comes again: memory was needed elsewhere.
  virtual void begin_again() {}
  // No more will be computed: the task has what it wanted, or for this reason.
  virtual void end(Result<void> outcome) = 0;
  // Whether there will be wishes; and one, of the draft that is made next.
  virtual bool wants_drafts() const { return false; }
  virtual DraftWish draft_wish() { return {}; }
  // Branches leave the draft, or each other, and are taken with all of it.
  virtual void take_draft(Draft /*draft*/, std::vector<DraftBranch> /*branches*/, DraftRecord& /*record*/) {}
  // While a step is computed that has its last token: how it will draw the next one, if it is sure to go on
  // with what it draws, and then to want what follows that.
  virtual std::optional<TokenDraw> next_draw() const { return std::nullopt; }
  // Whether it waits for somebody to take what it has made.
  virtual bool is_held_up() const { return false; }

  std::shared_ptr<Context> context_;  // where to open a sequence
  std::unique_ptr<Sequence> own_sequence_;
  Sequence* sequence_ = nullptr;  // null as long as there is none
  const Work work_;
  std::atomic<bool> is_done_{false};

  // The scheduler's notes.
  Stage stage_ = Stage::waiting;
  bool has_begun_ = false;  // its prompt was put in place
  int n_in_vain_ = 0;       // steps in which the highest logits would not do, less those in which they did
  uint64_t order_ = 0;      // of arrival
  std::chrono::steady_clock::time_point waits_since_ = {};  // when it last got on
  Priority urgency_ = Priority::background;                 // its own, or that of those who wait for it
  PrefixTree::Claim claim_;                                 // while its prompt is being computed
  std::optional<PausedSlice> paused_;                       // of the prompt: it has memory, and must be done
                                                            // with before anything else of the sequence is
};

}  // namespace parlance
