// How far a sequence's memory is right: pages and recurrent states that are taken, computed, remembered and
// gone back from.
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "engine/context.h"
#include "engine/sequence.h"

namespace parlance {

void Sequence::give_up_memory() {
  drop_branches();
  remember();
  pages_.truncate(0);
  n_computed_ = n_remembered_ = n_stored_ = 0;
  snapshots_.truncate(0);
  states_to_restore_ = nullptr;
}

void Sequence::park() {
  give_up_memory();
  context_->close_sequence(std::exchange(slot_, -1));
}

bool Sequence::unpark() {
  if (!is_parked()) return true;
  const auto slot = context_->open_sequence();
  if (slot) slot_ = *slot;
  return slot.has_value();
}

// Gives the prefix tree what it does not have yet of the first n_tokens.
void Sequence::remember(int64_t n_tokens) {
  if (sharing_.is_off) return;
  n_tokens = std::min(n_tokens, first_noise_);
  if (n_tokens <= n_remembered_ || n_tokens > pages_.n_tokens()) return;
  pages_.publish(context_->tree(), key().first(n_tokens), sharing_.prefix_class);
  n_remembered_ = n_tokens;
}

// Keeps the pages of the first n_tokens, as far as a sequence may go on from them.
void Sequence::cut_pages(int64_t n_tokens) {
  n_tokens = pages_.usable(n_tokens, context_->layout().page_rules());
  pages_.truncate(n_tokens);
  n_computed_ = n_tokens;
  n_remembered_ = std::min(n_remembered_, n_tokens);
}

// Takes memory to a position at or before n_tokens: as far as it reaches without recurrent states or with
// those in memory, else to a snapshot. At the start states count as zero, whatever they hold.
void Sequence::go_back(int64_t n_tokens) {
  const bool has_states = n_stored_ <= n_tokens && n_tokens <= n_computed_;
  if (snapshots_.capacity() > 0 && !has_states) {
    const Snapshot* snapshot = snapshots_.latest(n_tokens);
    n_tokens = n_stored_ = snapshot ? snapshot->n_tokens : 0;
    states_to_restore_ = snapshot ? snapshot->states : nullptr;
  }
  const int64_t wanted = std::min(n_tokens, pages_.n_tokens());
  cut_pages(wanted);
  snapshots_.truncate(n_computed_);
  if (snapshots_.capacity() > 0 && n_computed_ < wanted) go_back(n_computed_);  // to states that fit the cut
}

int64_t Sequence::n_until_cut(int64_t n) const {
  for (const int64_t cut : cuts_) {
    if (cut > n_computed_ && cut < n_computed_ + n && snapshots_.is_worth_a_batch(cut))
      return cut - n_computed_;
  }
  return n;
}

Sequence::StateWay Sequence::state_way(int64_t n) const {
  const int64_t end = n_computed_ + n, n_settled = n_tokens() - n_drafted_;
  const int64_t to = std::min(end, std::max(n_stored_, n_settled));
  const int64_t first_kept = n_stored_ < n_computed_ ? n_stored_ : to;
  return {n_stored_, end - first_kept <= context_->n_kept_inputs() ? to : end};
}

bool Sequence::wants_states() const {
  if (snapshots_.capacity() == 0 || n_stored_ == 0 || states_to_restore_) return false;
  const Snapshot* last = snapshots_.latest(n_stored_);
  return !last || last->n_tokens < n_stored_;
}

bool Sequence::wants_last_snapshot() const {
  return wants_states() && snapshots_.is_worth_a_batch(n_stored_);
}

bool Sequence::wants_snapshot() const {
  if (!wants_states()) return false;
  return snapshots_.is_due(n_stored_) ||
         (std::ranges::find(cuts_, n_stored_) != cuts_.end() && snapshots_.is_worth_a_batch(n_stored_));
}

void Sequence::add_snapshot(StateCopy states) {
  remember(n_stored_);
  if (first_noise_ == kNowhere && !sharing_.is_off)
    (void)context_->tree().insert_states(key().first(n_stored_), states);
  snapshots_.add(n_stored_, std::move(states));
}

// The page before which, from the first pages on, the main ones are read: those that have left the window,
// and those that have no exact one any more.
Sequence::PageTable Sequence::page_table() const {
  const KvLayout& layout = context_->layout();
  const auto pages = pages_.pages();
  const auto n_sink = layout.n_sink_pages();
  int64_t end = std::ssize(pages);
  if (context_->options().cache.has_exact_pages()) {
    end = std::max<int64_t>(0, n_computed_ - context_->options().cache.n_recent) / layout.page_tokens;
    for (auto page = std::ssize(pages) - 1; page >= end; --page) {
      if (pages[static_cast<size_t>(page)].exact < 0) end = page + 1;
    }
    end = std::max(end, n_sink);
  }
  return {pages, static_cast<int32_t>(n_sink), static_cast<int32_t>(end)};
}

// Main pages are read before the branch leaves, where its pages are the sequence's own.
Sequence::PageTable Sequence::page_table(const Branch& branch) const {
  const PageTable own = page_table();
  return {branch.pages.pages(), own.main_first, own.main_end};
}

int64_t Sequence::n_rows_of_window() const {
  const KvPolicy& cache = context_->options().cache;
  if (!cache.has_exact_pages()) return INT64_MAX;
  const int64_t page = context_->layout().page_tokens, n_left_behind = n_computed_ - cache.n_recent;
  return page - (n_left_behind > 0 ? n_left_behind % page : n_left_behind);
}

Sequence::Compression Sequence::pages_to_compress() {
  Compression wanted;
  if (!context_->options().cache.has_exact_pages()) return wanted;
  const PageTable table = page_table();
  for (auto page = static_cast<size_t>(table.main_first); page < static_cast<size_t>(table.main_end);
       ++page) {
    const PageRef ref = pages_.pages()[page];
    if (ref.main >= 0) continue;
    auto twin = pages_.add_main(page);
    if (!twin && context_->tree().evict({.main = 1, .exact = 0})) twin = pages_.add_main(page);
    wanted.has_room = twin.has_value();
    if (!twin) break;
    wanted.moves.push_back({ref.exact, twin->main});
  }
  return wanted;
}

void Sequence::compressed(bool has_moved) {
  if (!context_->options().cache.has_exact_pages()) return;
  const PageTable table = page_table();
  if (has_moved) {  // the tree learns of the compressed pages, or it would hold on to the exact ones
    n_remembered_ = 0;
    remember(std::min<int64_t>(int64_t{table.main_end} * context_->layout().page_tokens, n_computed_));
  }
  for (auto page = static_cast<size_t>(table.main_first); page < static_cast<size_t>(table.main_end); ++page)
    pages_.drop_exact(page);
}

bool Sequence::has_room_behind(int64_t n) const {
  const int64_t position = n_computed_ + n;
  return position < context_->options().n_ctx && n_rows_of_window() > n &&
         pages_.is_own_at(position, context_->layout().page_rules().written);
}

SequencePages::Extension Sequence::make_room(int64_t n) {
  if (n_computed_ + n <= pages_.n_tokens()) return {SequencePages::Extension::done, {}};  // a draft had it
  return extend(pages_, n_computed_ + n);
}

// The tree gives up pages where too few are free.
SequencePages::Extension Sequence::extend(SequencePages& pages, int64_t n_tokens) {
  const PageKind kind = context_->layout().page_rules().written;
  SequencePages::Extension room = pages.extend(n_tokens, kind);
  if (room.outcome == SequencePages::Extension::no_room) {
    PageCounts wanted;
    wanted[kind] = static_cast<int32_t>(
        div_up<int64_t>(n_tokens - pages.n_tokens(), context_->layout().page_tokens) + 1);
    context_->tree().evict(wanted);
    room = pages.extend(n_tokens, kind);
  }
  return room;
}

// A branch has pages of its own from the one on that the next position lies in.
bool Sequence::make_room_for_branches() {
  const int64_t n_shared = n_computed_ - n_computed_ % context_->layout().page_tokens;
  for (Branch& branch : branches_) {
    branch.slot = context_->open_branch();
    branch.pages = pages_.fork();
    branch.pages.truncate(n_shared);
    const bool has_room =
        branch.slot >= 0 &&
        extend(branch.pages, first_drafted() + branch.way.end()).outcome == SequencePages::Extension::done;
    if (has_room) continue;
    drop_branches();
    return false;
  }
  return true;
}

void Sequence::drop_branches() {
  for (const Branch& branch : branches_) {
    if (branch.slot >= 0) context_->close_branch(branch.slot);
  }
  branches_.clear();
}

void Sequence::take_branch(int64_t branch) {
  const std::vector<Token> drafted = tokens_of_branch(branch);
  const int64_t first = first_drafted();
  std::swap(pages_, branches_[static_cast<size_t>(branch)].pages);
  drop_branches();
  tokens_.resize(static_cast<size_t>(first));
  tokens_.insert(tokens_.end(), drafted.begin(), drafted.end());
  n_drafted_ = std::ssize(drafted);
  n_computed_ = n_tokens();
  n_remembered_ = std::min(n_remembered_, first);
}

void Sequence::computed(int64_t n) {
  n_stored_ = state_way(n).to;
  n_computed_ += n;
  if (pages_.n_tokens() > n_computed_) pages_.truncate(n_computed_);  // room that drafts had
}

void Sequence::remember_pages() {
  remember(n_computed_ - n_computed_ % context_->layout().page_tokens);
}

void Sequence::failed() {
  n_stored_ = kNowhere;  // states are half changed
  give_back_room();
}

void Sequence::give_back_room() {
  drop_branches();
  go_back(n_computed_);
}

// Recurrent layers are taken back to zeros, which are as good as any other noise.
void Sequence::noise_written(int64_t n) {
  n_computed_ += n;
  if (snapshots_.capacity() == 0) return;
  snapshots_.truncate(0);
  snapshots_.add(n_computed_, std::make_shared<const std::vector<std::byte>>(context_->state_bytes()));
  n_stored_ = kNowhere;
  go_back(n_computed_);
}

}  // namespace parlance
