// Executes a step: rows of many sequences, brought into memory and through all parts of the model. Knows
// nothing of who wants it and why.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "engine/part_runner.h"
#include "engine/sequence.h"
#include "sampling/top_logits.h"

namespace parlance {

// What a step takes of a sequence: its next tokens that are not computed, and of the last of these the
// outputs; then the tokens of its branches, if all of these are taken, with the outputs of each.
struct Slice {
  Sequence* sequence = nullptr;
  int64_t n_tokens = 0;
  int64_t n_outputs = 0;  // those of branches included
  int64_t n_branch_tokens = 0;
  int64_t n_beside = 0;  // of the tokens, the last ones: computed as if each were alone, see Task::n_beside_

  int64_t n_rows() const { return n_tokens + n_branch_tokens; }
};

// A slice on its way through the layers, with other steps in between. Its sequence must stay as it is until
// all layers have been computed, or have failed().
struct PausedSlice {
  Slice slice;
  Wanted wanted = Wanted::logits;
  int64_t n_layers = 0;       // that have been computed
  double ms = 0;              // that these took
  std::vector<float> h = {};  // the residual stream [n_embd, n_tokens] behind these
};

// Belongs to one thread at a time.
class Runner {
 public:
  explicit Runner(Context& context) : context_(context) {}

  int64_t most_alike_rows() const;  // see Context

  // Memory for the slice's tokens: compresses what has left the window, takes pages, copies one that others
  // share. False when there are not enough pages, beside those that sequences hold; what was taken stays with
  // the sequence, to go on from or to give_back_room(). Slices that were prepared are run next, or failed().
  bool prepare(const Slice& slice);

  // Computes slices that were prepared. False when all tickets were cancelled meanwhile, and nothing counts.
  // Errors: a device failed; nothing counts either. Where there are draws, one for each slice, a step for the
  // token that each is thought to draw is queued before the outputs are waited for, if may_go_ahead().
  Result<bool> run(std::span<const Slice> slices, Wanted wanted, std::span<const Cancellation> tickets,
                   std::span<const TokenDraw> draws = {});

  // Whether such a step can be queued behind this one: each slice is one token with its output, and what is
  // behind it costs nothing and changes nothing if the token turns out to be another one.
  bool may_go_ahead(std::span<const Slice> slices, Wanted wanted) const;
  // The rows of the step that is queued already; none: there is no such. What is not run by run_ahead()
  // before the next run() is lost, and was in vain.
  struct AheadRow {
    const Sequence* sequence;  // null: it was forgotten
    int64_t position;
    Token token;
  };
  std::span<const AheadRow> ahead() const { return ahead_.rows; }
  // Of all rows so far, those that were run, and those that are lost.
  uint64_t n_ahead() const { return n_ahead_; }
  uint64_t n_in_vain() const { return n_in_vain_; }
  // The sequence goes, or its memory does.
  void forget_ahead(const Sequence& sequence);
  void drop_ahead();
  // As run() for some of the rows, in their order, whose slices are prepared and have just this token; goes
  // ahead again if there are draws, and all rows.
  Result<bool> run_ahead(std::span<const size_t> rows, std::span<const Slice> slices,
                         std::span<const Cancellation> tickets, std::span<const TokenDraw> draws);

  // Where parts can pause (PartRunner::can_pause()): computes the next n layers of a slice that was prepared;
  // outputs() are those of the slice when the last one has been computed. The rest as run(). Memory that so
  // many other sequences, and the next slice of this size, begin next is taken from the system meanwhile.
  Result<bool> run_layers(PausedSlice& paused, int64_t n, int64_t n_others, const Cancellation& ticket);
  // Whether nothing is left of it.
  bool is_through(const PausedSlice& paused) const;

  // Of the last step, the slices' outputs, one slice after the other: logits [n_logits, n], what embeddings
  // are pooled from [n_embd, n], or tokens [n].
  std::span<const float> outputs() const { return outputs_.rows; }
  std::span<const Token> tokens() const { return outputs_.tokens; }
  // Where the highest logits were wanted and the step was computed in one piece: how many outputs there are,
  // and the highest logits of each; none where a logit is no number. Else outputs() has all logits.
  int64_t n_top() const;
  std::optional<TopLogits> top(int64_t output) const;
  // Of n outputs all logits, from the device, as long as no other step was made; valid until the next call.
  Result<std::span<const float>> logits(int64_t first, int64_t n);
  uint64_t n_whole_rows() const { return n_whole_rows_; }  // of logits, that have come from the device

  // Blocks of a sequence's last token, which is not computed yet, and what may follow it. Room for their
  // slots was prepared, and is what the next slice goes into.
  struct Block {
    Sequence* sequence = nullptr;
    int64_t n_slots = 0;
    int64_t n_wanted = 0;  // of the slots behind the first
  };
  // Asks the context's block drafter; outputs() are then its logits [n_vocab, n] of the wanted slots, block
  // by block, or tokens() [n_choices, n] those that it takes for the most likely (-1: there are no more), and
  // outputs() their probabilities. False when all tickets were cancelled meanwhile.
  Result<bool> draft(std::span<const Block> blocks, Wanted wanted, std::span<const Cancellation> tickets,
                     int64_t n_choices = 1);

  // Copies of the sequence's recurrent states, as they are now.
  Result<StateCopy> save_states(const Sequence& sequence);

  // Stores noise as keys and values of the slice's tokens, and counts them as computed.
  Result<void> write_noise(const Slice& slice, std::span<const float> noise);

 private:
  // Of rows: floats, a token each, or words that tell of the highest logits.
  struct Outputs {
    std::vector<float> rows;
    std::vector<Token> tokens;
    std::vector<int32_t> top;

    Result<void> download(Stream& stream, const Tensor& from);
    Result<void> download_top(Stream& stream, const Tensor& from);
    void keep_rows(std::span<const size_t> rows, int64_t n_all);
    void append(const Outputs& from, int64_t n_before, int64_t n, int64_t n_all);
  };

  // A step that is queued.
  struct Ahead {
    std::vector<AheadRow> rows = {};
    HostBatch batch = {};
    Tensor told = {};  // of all
  };

  Result<bool> run_together(std::span<const Slice> slices, Wanted wanted,
                            std::span<const Cancellation> tickets, std::span<const TokenDraw> draws = {});
  Result<void> go_ahead(std::span<const Slice> slices, const HostBatch& batch, const Tensor& told,
                        std::span<const TokenDraw> draws, Outputs& outputs);
  std::vector<std::vector<size_t>> groups_of(std::span<const Slice> slices) const;
  HostBatch batch_of(std::span<const Slice> slices) const;
  void take_memory_ahead(std::span<const Slice> slices);
  void take_memory_ahead(int64_t n_pages, int64_t n_tokens);
  static void add_branches(const Sequence& sequence, int64_t page_tokens, HostBatch& batch);
  void place(Sequence& sequence);

  Result<void> download_outputs(PartRunner& part, const Tensor& from, Wanted wanted, Outputs& outputs);

  Context& context_;
  Ahead ahead_;
  uint64_t n_ahead_ = 0, n_in_vain_ = 0;
  int64_t n_top_words_ = 0;  // of an output
  uint64_t n_whole_rows_ = 0;
  std::vector<float> logits_;  // of some outputs
  Outputs h_, features_;       // on their way from one part to the next: see PartRunner::Before
  Outputs outputs_, group_outputs_;
};

}  // namespace parlance
