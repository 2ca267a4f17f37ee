#include "kv/sequence_pages.h"

#include <cassert>
#include <utility>

#include "base/checked.h"

namespace parlance {

SequencePages::SequencePages(SequencePages&& other) noexcept
    : SequencePages(*other.pools_, other.page_tokens_) {
  *this = std::move(other);
}

SequencePages& SequencePages::operator=(SequencePages&& other) noexcept {
  std::swap(pools_, other.pools_);
  std::swap(page_tokens_, other.page_tokens_);
  std::swap(n_tokens_, other.n_tokens_);
  std::swap(pages_, other.pages_);
  std::swap(copied_, other.copied_);
  return *this;
}

void SequencePages::release_copied() {
  pools_->release(std::exchange(copied_, {}));
}

void SequencePages::adopt(PrefixMatch match) {
  assert(pages_.empty() && "only an empty sequence starts with known tokens");
  assert(static_cast<int64_t>(match.pages.size()) == div_up<int64_t>(match.n_tokens, page_tokens_));
  release_copied();
  pages_ = std::move(match.pages);
  n_tokens_ = match.n_tokens;
}

SequencePages SequencePages::fork() const {
  SequencePages twin(*pools_, page_tokens_);
  twin.n_tokens_ = n_tokens_;
  twin.pages_ = pages_;
  for (const PageRef page : pages_) pools_->hold(page);
  return twin;
}

void SequencePages::truncate(int64_t n_tokens) {
  assert(n_tokens <= n_tokens_);
  release_copied();
  n_tokens_ = n_tokens;
  const auto n_pages = static_cast<size_t>(div_up<int64_t>(n_tokens, page_tokens_));
  while (pages_.size() > n_pages) {
    pools_->release(pages_.back());
    pages_.pop_back();
  }
}

SequencePages::Extension SequencePages::extend(int64_t n_tokens, PageKind kind) {
  assert(n_tokens >= n_tokens_);
  if (n_tokens == n_tokens_) return {Extension::done, {}};
  PagePool& pool = (*pools_)[kind];
  const auto n_partial = static_cast<int32_t>(n_tokens_ % page_tokens_);
  const PageRef last = n_partial > 0 ? pages_.back() : PageRef{};
  if (n_partial > 0 && last[kind] < 0) return {Extension::wrong_kind, {}};
  const bool copies = n_partial > 0 && pool.holders(last[kind]) > 1;

  const auto n_pages = static_cast<size_t>(div_up<int64_t>(n_tokens, page_tokens_));
  std::vector<int32_t> taken;
  while (taken.size() < n_pages - pages_.size() + (copies ? 1 : 0)) {
    const std::optional<int32_t> page = pool.take();
    if (!page) {
      for (const int32_t back : taken) pool.release(back);
      return {Extension::no_room, {}};
    }
    taken.push_back(*page);
  }
  release_copied();

  Extension extension{Extension::done, {}};
  if (copies) {
    extension.copy = PageCopy{kind, last[kind], taken.back(), n_partial};
    copied_ = last;
    pages_.back() = {};
    pages_.back()[kind] = taken.back();
    taken.pop_back();
  } else if (n_partial > 0) {
    PageRef stale = std::exchange(pages_.back(), {});  // its other half will lack what is written now
    std::swap(pages_.back()[kind], stale[kind]);
    pools_->release(stale);
  }
  for (const int32_t page : taken) pages_.emplace_back()[kind] = page;
  n_tokens_ = n_tokens;
  return extension;
}

bool SequencePages::is_own_at(int64_t n_tokens, PageKind kind) const {
  if (n_tokens % page_tokens_ == 0 || n_tokens / page_tokens_ + 1 != std::ssize(pages_)) return false;
  const PageKind other = kind == PageKind::main ? PageKind::exact : PageKind::main;
  const PageRef last = pages_.back();
  return last[kind] >= 0 && last[other] < 0 && (*pools_)[kind].holders(last[kind]) == 1;
}

std::optional<SequencePages::Twin> SequencePages::add_main(size_t page) {
  PageRef& ref = pages_[page];
  if (ref.main >= 0) return Twin{ref.main, false};
  const std::optional<int32_t> taken = (*pools_)[PageKind::main].take();
  if (!taken) return std::nullopt;
  ref.main = *taken;
  return Twin{*taken, true};
}

void SequencePages::drop_exact(size_t page) {
  PageRef& ref = pages_[page];
  assert(ref.main >= 0 && "the positions would be nowhere");
  if (ref.exact >= 0) (*pools_)[PageKind::exact].release(std::exchange(ref.exact, -1));
}

void SequencePages::publish(PrefixTree& tree, const PrefixKey& text, PrefixClass prefix_class) {
  assert(text.n_tokens() <= n_tokens_);
  release_copied();
  const auto n_pages = div_up<size_t>(text.tokens.size(), static_cast<size_t>(page_tokens_));
  tree.insert(text, std::span(pages_).first(n_pages), prefix_class);
}

}  // namespace parlance
