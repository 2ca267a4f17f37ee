#include "tts/kept_speech_lm.h"

#include <algorithm>
#include <cassert>

#include "base/checked.h"
#include "base/parameter.h"
#include "tts/kept_columns.h"
#include "tts/speech_lm.h"

namespace parlance {

namespace {

constexpr int64_t kRoomStep = 256;  // positions: room grows in such steps

}  // namespace

Result<void> KeptSpeechLm::prepare(const KeptPrompt& prompt) {
  PARLANCE_CHECK(check_speech_prompt(
      parameters(), {.text = prompt.text, .reference = prompt.reference, .n_target = prompt.n_target}));
  text_.assign(prompt.text.begin(), prompt.text.end());
  reference_.assign(prompt.reference.begin(), prompt.reference.end());
  n_reference_ = std::ssize(reference_) / parameters().n_codebook;
  n_target_ = prompt.n_target;
  is_guided_ = prompt.is_guided;
  n_columns_ = 0;
  return make_room();
}

Result<void> KeptSpeechLm::make_room() {
  if (n_row() <= room_) return {};
  const HyperParameters& hp = parameters().text;
  const int64_t room = align_up(n_row(), kRoomStep);
  KvLayout layout{.n_layer = hp.n_layer,
                  .n_head_kv = hp.n_head_kv,
                  .head_dim_k = hp.head_dim_k,
                  .head_dim_v = hp.head_dim_v};
  layout.policy.k.format = layout.policy.v.format = kept_;
  const int64_t n_pages = div_up<int64_t>(room, layout.page_tokens);
  const int64_t n_nobodys = decides() ? div_up<int64_t>(most_unseen(), layout.page_tokens) : 0;
  cache_.reset();
  room_ = 0;
  auto cache =
      KvCache::create(device_, layout, {.main = static_cast<int32_t>(2 * n_pages + n_nobodys), .exact = 0},
                      room, /*n_seq=*/n_nobodys > 0 ? 3 : 2);
  if (!cache) {
    return fail(cache.error().code,
                "keys and values of {} columns of speech do not fit into memory; speak in shorter chunks",
                room);
  }
  cache_ = *std::move(cache);
  for (int row = 0; row < (n_nobodys > 0 ? 3 : 2); ++row) {
    const int64_t n = row == Columns::kNobody ? n_nobodys : n_pages;
    std::vector<PageRef> pages;
    for (int64_t i = 0; i < n; ++i) pages.push_back({.main = static_cast<int32_t>(row * n_pages + i)});
    cache_->set_pages(row, pages, 0, static_cast<int32_t>(n));
  }
  (void)cache_->layers(*stream_);  // the tables go to the device while nobody can cancel that
  PARLANCE_CHECK(stream_->synchronize());
  if (decides()) PARLANCE_CHECK(make_device_room(room));
  room_ = room;
  return {};
}

// Those that the pass takes: text, reference and frames of the conditional row, then those of the other one.
KeptSpeechLm::Columns KeptSpeechLm::columns_of(const KeptPass& pass, std::span<const int32_t> codes) const {
  const OmniVoiceParameters& hp = parameters();
  const auto n_codebook = static_cast<size_t>(hp.n_codebook);
  const auto n_text = std::ssize(text_);
  Columns columns;
  columns.audio.resize(n_codebook);
  const auto add_audio = [&](std::span<const int32_t> grid, int64_t n_frames, int64_t frame) {
    for (size_t k = 0; k < n_codebook; ++k) {
      columns.audio[k].push_back(static_cast<int32_t>(static_cast<int64_t>(k) * hp.n_audio_vocab) +
                                 grid[k * static_cast<size_t>(n_frames) + static_cast<size_t>(frame)]);
    }
  };
  const auto end = static_cast<int32_t>(n_row() - 1);
  if (pass.takes_prompt) {
    columns.text = text_;
    for (int64_t i = 0; i < n_text; ++i) columns.add({Columns::kConditional, static_cast<int32_t>(i), end});
    for (int64_t t = 0; t < n_reference_; ++t) {
      columns.add({Columns::kConditional, static_cast<int32_t>(n_text + t), end});
      add_audio(reference_, n_reference_, t);
    }
  }
  assert(pass.far_frames >= 1);
  const bool is_guided = is_guided_ && pass.takes_unconditional;
  const bool is_blank = pass.first == 0 && pass.end == n_target_ && are_masks(codes);
  const int64_t first_far = std::clamp(pass.first_far, pass.first, pass.end), before = n_text + n_reference_;
  const int64_t n_together = first_far < pass.end ? pass.far_frames : 1;
  columns.has_one_unconditional = is_guided && is_blank && has_one_unconditional();
  const bool shares = columns.has_one_unconditional || n_together > 1;
  for (int64_t i = 0; shares && i < columns.n(); ++i) {
    columns.shared.push_back(static_cast<int32_t>(i));
    columns.shared_pos.push_back(columns.pos[static_cast<size_t>(i)]);
    columns.shared_seq.push_back(Columns::kConditional);
  }

  columns.first_target = columns.n();
  const auto add_frames = [&](int32_t row, int64_t first, int64_t n, int64_t origin, int32_t end_of_row) {
    const int64_t t = first + (n - 1) / 2;
    columns.add({row, static_cast<int32_t>(origin + t), end_of_row});
    add_audio(codes, n_target_, t);
    if (shares) columns.share(origin + first, origin + first + n);
  };
  for (int64_t t = pass.first; t < pass.end;) {
    const int64_t n = t < first_far ? 1 : std::min(n_together, pass.end - t);
    add_frames(Columns::kConditional, t, n, before, end);
    t += n;
  }
  columns.first_unconditional = columns.n();
  const auto last = static_cast<int32_t>(n_target_ - 1);
  if (columns.has_one_unconditional) {
    add_frames(Columns::kUnconditional, 0, n_target_, 0, last);
  } else {
    for (int64_t t = pass.first; is_guided && t < pass.end; ++t)
      add_frames(Columns::kUnconditional, t, 1, 0, last);
  }
  return columns;
}

bool KeptSpeechLm::are_masks(std::span<const int32_t> codes) const {
  return std::ranges::all_of(codes, [mask = parameters().mask](int32_t code) { return code == mask; });
}

KeptSpeechLm::Columns KeptSpeechLm::columns_of(const KeptPass& pass, std::span<const int32_t> codes,
                                               std::span<const CodeSlot> slots) const {
  Columns columns = columns_of(pass, codes);
  const auto n_codebook = static_cast<size_t>(parameters().n_codebook);
  const bool is_guided = is_guided_ && pass.takes_unconditional;

  // Frames of which a code is asked, each once, and their numbers among these.
  std::vector<int32_t> number(static_cast<size_t>(pass.end - pass.first), -1);
  for (const CodeSlot& slot : slots) number[static_cast<size_t>(slot.frame - pass.first)] = 0;
  int32_t n_asked = 0;
  for (size_t t = 0; t < number.size(); ++t) {
    if (number[t] < 0) continue;
    number[t] = n_asked++;
    columns.ask(columns.conditional_of(static_cast<int64_t>(t)));
  }
  const bool asks_one = columns.has_one_unconditional;
  if (asks_one) columns.ask(columns.first_unconditional);
  for (size_t t = 0; is_guided && !asks_one && t < number.size(); ++t) {
    if (number[t] >= 0) columns.ask(columns.unconditional_of(static_cast<int64_t>(t)));
  }
  columns.of_codebook.resize(n_codebook);
  for (size_t k = 0, i = 0; k < n_codebook; ++k) {
    columns.first_slot.push_back(i);
    std::vector<int32_t>& rows = columns.of_codebook[k];
    for (; i < slots.size() && slots[i].codebook == static_cast<int64_t>(k); ++i)
      rows.push_back(number[static_cast<size_t>(slots[i].frame - pass.first)]);
    const size_t n_slots = rows.size();
    if (asks_one && n_slots > 0) rows.push_back(n_asked);
    for (size_t j = 0; is_guided && !asks_one && j < n_slots; ++j) rows.push_back(n_asked + rows[j]);
  }
  columns.first_slot.push_back(slots.size());
  return columns;
}

Result<OmniVoiceColumns> KeptSpeechLm::place(const Columns& columns) {
  const OmniVoiceParameters& hp = parameters();
  size_t size = 0;
  const auto count = [&](size_t n) { size += align_up(n * sizeof(int32_t), Arena::kAlignment); };
  for (const auto* list :
       {&columns.text, &columns.pos, &columns.seq, &columns.end, &columns.asked, &columns.asked_pos,
        &columns.asked_seq, &columns.asked_end, &columns.shared, &columns.shared_pos, &columns.shared_seq})
    count(list->size());
  count(static_cast<size_t>(hp.n_codebook) * columns.audio.front().size());
  for (const auto& rows : columns.of_codebook) count(rows.size());
  if (!inputs_ || inputs_->size() < size) {
    PARLANCE_CHECK(stream_->synchronize());  // the last pass has read what is there
    PARLANCE_TRY(inputs_, device_.allocate(size + size / 2));
  }

  size_t used = 0;
  const auto upload = [&](int64_t n0, int64_t n1, std::span<const int32_t> values) {
    Tensor tensor;
    if (values.empty()) return tensor;
    tensor.dtype = DType::i32;
    tensor.ne = {n0, n1, 1, 1};
    tensor.buffer = inputs_.get();
    tensor.data = inputs_->base() + used;
    used += align_up(values.size_bytes(), Arena::kAlignment);
    stream_->upload(tensor, std::as_bytes(values));
    return tensor;
  };
  const auto list = [&](const std::vector<int32_t>& values) { return upload(std::ssize(values), 1, values); };
  std::vector<int32_t> audio;
  for (const auto& rows : columns.audio) audio.insert(audio.end(), rows.begin(), rows.end());
  OmniVoiceColumns placed;
  placed.text = list(columns.text);
  placed.audio = upload(std::ssize(columns.audio.front()), hp.n_codebook, audio);
  placed.pos = list(columns.pos);
  placed.seq = list(columns.seq);
  placed.end = list(columns.end);
  placed.n_kv_bound = n_row();
  placed.asked.columns = list(columns.asked);
  placed.asked.pos = list(columns.asked_pos);
  placed.asked.seq = list(columns.asked_seq);
  placed.asked.end = list(columns.asked_end);
  for (const auto& rows : columns.of_codebook) placed.asked.of_codebook.push_back(list(rows));
  placed.shared = {
      .columns = list(columns.shared), .pos = list(columns.shared_pos), .seq = list(columns.shared_seq)};
  return placed;
}

// Brings the logits of each codebook to where conditional() and unconditional() find them.
Result<void> KeptSpeechLm::fetch(const std::vector<Tensor>& logits, const Columns& columns) {
  size_t n_rows = 0;
  for (const auto& rows : columns.of_codebook) n_rows += rows.size();
  logits_.resize(n_rows * vocab());
  slots_at_.resize(columns.first_slot.back());
  size_t row = 0;
  for (size_t k = 0; k < logits.size(); ++k) {
    if (!logits[k]) continue;
    const size_t first = columns.first_slot[k], n = columns.first_slot[k + 1] - first;
    const size_t n_of_codebook = columns.of_codebook[k].size();
    const std::span<float> rows = std::span(logits_).subspan(row * vocab(), n_of_codebook * vocab());
    PARLANCE_CHECK(stream_->download(std::as_writable_bytes(rows), logits[k]));
    for (size_t i = 0; i < n; ++i) {
      slots_at_[first + i] = {.conditional = row + i,
                              .unconditional = row + n + (columns.has_one_unconditional ? 0 : i)};
    }
    row += n_of_codebook;
  }
  return {};
}

Result<void> KeptSpeechLm::run(const KeptPass& pass, std::span<const int32_t> codes,
                               std::span<const CodeSlot> slots, const Cancellation& cancellation) {
  assert(std::ssize(codes) == parameters().n_codebook * n_target_);
  assert(pass.first >= 0 && pass.first < pass.end && pass.end <= n_target_ && !slots.empty());
  assert(std::ranges::all_of(slots, [&](const CodeSlot& slot) { return slot.frame < pass.first_far; }));
  assert(n_columns_ > 0 || (pass.takes_prompt && pass.first == 0 && pass.end == n_target_));
  const CancellableWork work(*stream_, cancellation);
  const Columns columns = columns_of(pass, codes, slots);
  PARLANCE_TRY(const OmniVoiceColumns placed, place(columns));
  const KvLayers& kv = cache_->layers(*stream_);
  std::vector<Tensor> logits;
  const auto compute = [&] { logits = model_.forward_columns(*stream_, placed, kv); };
  const Plan plan = stream_->dry_run(compute);
  if (!plan.missing.empty()) {
    return fail(ErrorCode::unsupported, "device {} has no kernel for {}; use {} for speech", device_.name(),
                plan.missing.front(), set_to(Parameter::device, "cpu"));
  }
  PARLANCE_CHECK(stream_->reserve(plan));
  stream_->step(Stream::kOnce, compute);
  if (stream_->cancelled()) return fail(ErrorCode::cancelled, "speech was cancelled");
  has_unconditional_ = is_guided_ && pass.takes_unconditional;
  n_columns_ += columns.n();
  return fetch(logits, columns);
}

}  // namespace parlance
