// One sequence of a context: its tokens, the pages of their keys and values, the states of recurrent layers,
// and how far all this has been computed. Data and its rules; who computes is the runner, who decides when is
// the scheduler.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/draft_tree.h"
#include "engine/snapshots.h"
#include "kv/cache.h"
#include "kv/prefix_key.h"
#include "kv/prefix_tree.h"
#include "kv/sequence_pages.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

class Context;

// Rows [n_embd] in place of the embeddings of consecutive tokens, such as an audio encoder yields.
struct Embeddings {
  std::span<const float> rows = {};
  int64_t first = 0;  // the first of these tokens, among those that are appended
};

// Stands in the place of a token that is appended with a row instead of an embedding. In the sequence it
// becomes a content token (kv/prefix_key.h), so that sequences with the same rows share what was computed of
// them.
inline constexpr Token kEmbedded = -2;

// In place of tokens of noise, which nothing is shared behind.
inline constexpr Token kNoise = -1;

// Whether a prompt can be computed in a context. Errors: it is empty, a token is outside the vocabulary, it
// is longer than the context.
Result<void> check_prompt(const Context& context, std::span<const Token> prompt);

// Belongs to one thread at a time: whoever holds it, or the scheduler while a task of it is under way.
class Sequence {
 public:
  // An error when as many are open as the context allows.
  static Result<std::unique_ptr<Sequence>> open(std::shared_ptr<Context> context);
  // What was computed is remembered by the context.
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  // A second one with the same tokens in the same pages, which either copies where it goes on differently.
  Result<std::unique_ptr<Sequence>> fork() const;

  Context& context() const { return *context_; }
  int slot() const { return slot_; }  // its row of the page tables and states; -1: it is parked
  const std::vector<Token>& tokens() const { return tokens_; }
  PrefixKey key() const { return {tokens_, content_, sharing_.space}; }
  int64_t n_tokens() const { return static_cast<int64_t>(tokens_.size()); }
  int64_t n_computed() const { return n_computed_; }  // of the tokens: what memory has taken in
  int64_t n_missing() const { return n_tokens() - n_computed_; }
  int64_t n_reused() const { return n_reused_; }  // tokens that the last begin() found computed

  // Tokens that are to be computed behind the others. Where there are rows, tokens are kEmbedded; rows are
  // kept, so that they can be computed again. Errors, which leave the sequence as it was: a token outside the
  // vocabulary, rows that do not fit or that the context does not take, a text beyond the context.
  Result<void> append(std::span<const Token> tokens, const Embeddings& embeddings = {});
  // The same for tokens that may be taken back: truncate() to any of them loses nothing of what is before,
  // nor of recurrent states. What truncate() or append() leaves before its end stays from then on.
  Result<void> append_draft(std::span<const Token> tokens);

  // Other ways on beside the tokens that append_draft() has appended, no farther than the context reaches, to
  // be computed in one step with all of these or not at all. They are gone when tokens come or go, or memory
  // does.
  void append_branches(std::vector<DraftBranch> branches);
  struct Branch {
    DraftBranch way;
    int slot;             // its row of the page tables; -1: it has no memory
    SequencePages pages;  // of all positions up to its end; the full ones before the first drafted are shared
  };
  std::span<const Branch> branches() const { return branches_; }
  int64_t n_branch_tokens() const;
  int64_t first_drafted() const { return n_tokens() - n_drafted_; }  // position
  // Tokens of the way, from the first drafted one on.
  std::vector<Token> tokens_of_branch(int64_t branch) const;
  // The way in place of the drafted tokens, when both have been computed.
  void take_branch(int64_t branch);

  const Sharing& sharing() const { return sharing_; }
  // On what terms it shares from now on. On other ones than before, but for the class, its tokens go.
  void set_sharing(const Sharing& sharing);

  // Puts a prompt that was checked in place of the tokens. What of it the sequence or the context knows need
  // not be computed again, but for the last tokens, whose outputs are wanted.
  void begin(std::span<const Token> prompt, const PrefixTree::Claim* claim, int64_t n_outputs = 1);
  // Takes over what the context knows of the tokens beyond those that are computed, but for the last ones,
  // whose outputs are wanted.
  void take_known(const PrefixTree::Claim* claim, int64_t n_outputs = 1);

  // Forgets the tokens from position n_tokens on. Recurrent layers that cannot stay go back to a snapshot at
  // or before it; the tokens in between are to be computed again.
  void truncate(int64_t n_tokens);

  // Gives all pages back; the tokens stay, to be computed again or taken from what the context still knows.
  void give_up_memory();
  // The same, and others may be open in its place until it comes back. False, and it stays parked: as many
  // are open as the context allows.
  void park();
  bool unpark();
  bool is_parked() const { return slot_ < 0; }

  // Tells the context what was computed, so that others begin with it.
  void remember() { remember(n_computed_); }

  // For the runner.

  // How many of the next n tokens go through the model in one step: a snapshot may be worth an end before.
  int64_t n_until_cut(int64_t n) const;

  // Pages that have left the window of exact positions get main ones, which the runner fills; as many as
  // there are pages left for.
  struct Compression {
    std::vector<KvCache::Move> moves;
    bool has_room = true;
  };
  Compression pages_to_compress();
  // All of them were filled: the exact ones are given back.
  void compressed(bool has_moved);

  // Rows of a step, the next one first, that see the same positions in exact pages as if each of them were a
  // step of its own: up to where a page leaves the window.
  int64_t n_rows_of_window() const;

  // Whether the position behind the next n may be written before anybody knows what these yield, and nothing
  // is different when it is not kept: it lies in a page that the sequence has, and nobody else does, and sees
  // what is exact as it would later.
  bool has_room_behind(int64_t n) const;

  // Pages for n more computed positions, written by nobody else.
  SequencePages::Extension make_room(int64_t n);

  // Memory for the branches, beside what make_room() has made for the tokens: a page that the next position
  // lies in becomes one for each. False, and there are no branches any more, where there is none left but
  // what sequences hold.
  bool make_room_for_branches();
  void drop_branches();

  // What kernels read: pages in order; from main_first to main_end the main ones, else the exact ones.
  struct PageTable {
    std::span<const PageRef> pages;
    int32_t main_first, main_end;
  };
  PageTable page_table() const;
  PageTable page_table(const Branch& branch) const;

  // Rows in place of the embeddings of positions [first, first + n): runs of them, in order.
  struct RowsAt {
    int64_t first;  // position
    std::span<const float> rows;
  };
  std::vector<RowsAt> rows_at(int64_t first, int64_t n) const;

  // The states that must be put in place before the next step; null: those in memory are right, or the
  // sequence is at its start.
  StateCopy states_to_restore() const { return states_to_restore_; }
  void states_restored() { states_to_restore_ = nullptr; }
  // The positions that recurrent states stand at before and after a step of the next n tokens (Recurrence).
  // They stop before tokens that may be taken back.
  struct StateWay {
    int64_t from, to;
  };
  StateWay state_way(int64_t n) const;
  // Whether there are states, and no copy of those in memory.
  bool wants_states() const;
  // Whether a copy is worth its time after the step that has just been computed.
  bool wants_snapshot() const;
  // The same at the end of an answer, which the next prompt begins with.
  bool wants_last_snapshot() const;
  // A copy of the states in memory.
  void add_snapshot(StateCopy states);

  // The same of the pages that are full.
  void remember_pages();

  // n tokens were computed; or what was begun with make_room() has failed, or was cancelled half-way; or it
  // was not begun, for lack of memory: what was taken for it is given back.
  void computed(int64_t n);
  void failed();
  void give_back_room();

  // What lies in memory, for files.
  const SequencePages& pages() const { return pages_; }
  std::span<const Snapshot> snapshots() const { return snapshots_.kept(); }
  bool has_noise() const { return first_noise_ != kNowhere; }
  struct EmbeddedRun {  // rows are kept, to be computed again when memory was needed elsewhere
    int64_t first;      // position
    std::vector<float> rows;
  };
  struct Content {
    std::vector<Token> tokens;
    std::vector<ContentHash> content;
    std::vector<EmbeddedRun> rows;
    std::vector<Snapshot> snapshots;
  };
  // Puts what a file held in place of everything: pages of the first of these tokens; what is behind them is
  // left out.
  void replace(SequencePages pages, Content content);
  // Tokens that nobody computes, whose memory the caller fills with noise, and then says so.
  void add_noise(int64_t n);
  void noise_written(int64_t n);

 private:
  static constexpr int64_t kNowhere = INT64_MAX;

  Sequence(std::shared_ptr<Context> context, int slot);
  void remember(int64_t n_tokens);
  void cut_pages(int64_t n_tokens);
  void go_back(int64_t n_tokens);
  SequencePages::Extension extend(SequencePages& pages, int64_t n_tokens);
  int64_t n_embd() const;

  std::shared_ptr<Context> context_;
  int slot_;
  Sharing sharing_;
  SequencePages pages_;  // of the computed tokens
  std::vector<Token> tokens_;
  int64_t n_computed_ = 0;
  int64_t n_remembered_ = 0;  // of the computed tokens: what the prefix tree has been given
  int64_t n_reused_ = 0;
  std::vector<ContentHash> content_;   // of the content tokens
  std::vector<EmbeddedRun> embedded_;  // in order of position
  int64_t first_noise_ = kNowhere;     // position
  Snapshots snapshots_;
  std::vector<int64_t> cuts_;  // positions at which a step is to end for a snapshot, ascending
  StateCopy states_to_restore_;
  int64_t n_drafted_ = 0;  // of the tokens, the last ones: they may be taken back
  std::vector<Branch> branches_;
  int64_t n_stored_ = 0;  // of the computed tokens: those that the recurrent states have seen
};

}  // namespace parlance
