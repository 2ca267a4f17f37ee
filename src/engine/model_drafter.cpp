#include "engine/model_drafter.h"

#include <algorithm>

#include "engine/context.h"
#include "engine/draft_length.h"

namespace parlance {

namespace {

// A text that has changed by more than a verification can change it is another one, whose beginning may be
// known from elsewhere.
constexpr int64_t kMostNew = kMostDrafted + 1;

}  // namespace

ModelDrafter::ModelDrafter(std::shared_ptr<Context> context, int64_t n_vocab)
    : context_(std::move(context)),
      n_vocab_(std::min(n_vocab, context_->model().model().n_vocab())),
      runner_(*context_),
      sequences_(static_cast<size_t>(context_->options().n_seq)) {}

ModelDrafter::~ModelDrafter() = default;

std::vector<Token> ModelDrafter::readable(std::span<const Token> text) const {
  std::vector<Token> tokens(text.begin(), text.end());
  for (Token& token : tokens) token = token < n_vocab_ ? token : 0;
  return tokens;
}

// The second model's sequence with the text of the job; null where there are rows in place of tokens.
Sequence* ModelDrafter::follow(const DraftJob& job) {
  const std::vector<Token>& given = job.sequence->tokens();
  if (given.empty() || std::ranges::min(given) < 0) return nullptr;
  auto& own = sequences_[static_cast<size_t>(job.sequence->slot())];
  if (!own) {
    auto opened = Sequence::open(context_);
    if (!opened) return nullptr;
    own = *std::move(opened);
  }
  own->set_sharing(job.sequence->sharing());
  const std::vector<Token> text = readable(given);
  const int64_t common = std::ranges::mismatch(text, own->tokens()).in1 - text.begin();
  if (std::ssize(text) - common > kMostNew || own->n_tokens() - common > kMostNew) {
    own->begin(text, nullptr);
    return own.get();
  }
  const int64_t n_kept = std::min(common, std::ssize(text) - 1);  // what the last token yields is wanted
  own->truncate(n_kept);
  if (!own->append(std::span(text).subspan(static_cast<size_t>(n_kept)))) return nullptr;
  if (own->n_missing() > kMostNew) own->take_known(nullptr);  // its memory was given away
  return own.get();
}

// Those that lack least go first: a long text does not hold up the others.
std::vector<ModelDrafter::Writer> ModelDrafter::writers_of(std::span<DraftJob* const> jobs) {
  std::vector<Writer> writers;
  for (DraftJob* const job : jobs) {
    if (job->cancellation.cancelled()) continue;
    if (Sequence* const sequence = follow(*job)) writers.push_back({job, sequence});
  }
  std::ranges::stable_sort(writers, {}, [](const Writer& writer) { return writer.sequence->n_missing(); });
  return writers;
}

// Memory for the slice, where need be that of texts which nobody asks for now.
bool ModelDrafter::prepare(const Slice& slice, std::span<const Writer> writers) {
  while (!runner_.prepare(slice)) {
    slice.sequence->give_back_room();
    const auto is_idle = [&](const std::unique_ptr<Sequence>& other) {
      return other && other->n_computed() > 0 &&
             std::ranges::find(writers, other.get(), &Writer::sequence) == writers.end();
    };
    const auto idle = std::ranges::find_if(sequences_, is_idle);
    if (idle == sequences_.end()) return false;
    (*idle)->give_up_memory();
  }
  return true;
}

// Computes what the texts lack, as far as a step has rows and there is memory; who gets none is left out from
// now on. False when all were cancelled meanwhile. The last token is not read, as its logits are for a draft.
Result<bool> ModelDrafter::step(std::vector<Writer>& writers, bool reads_only) {
  int64_t n_rows = context_->options().n_batch;
  std::vector<Slice> slices;
  std::vector<Cancellation> tickets;
  std::vector<Writer> served;
  for (Writer writer : writers) {
    const int64_t n_missing = writer.sequence->n_missing();
    writer.n_rows = std::min(reads_only ? std::min(n_missing - 1, writer.job->most) : n_missing, n_rows);
    const Slice slice{writer.sequence, writer.n_rows, writer.n_rows == n_missing ? 1 : 0};
    if (writer.n_rows > 0) {
      if (!prepare(slice, writers)) continue;
      slices.push_back(slice);
      tickets.push_back(writer.job->cancellation);
      n_rows -= writer.n_rows;
    }
    served.push_back(writer);
  }
  writers = std::move(served);
  if (slices.empty()) return true;
  const Result<bool> is_done = runner_.run(slices, Wanted::logits, tickets);
  for (const Slice& slice : slices) {
    if (!is_done || !*is_done) {
      slice.sequence->failed();
      continue;
    }
    slice.sequence->computed(slice.n_tokens);
    if (!slice.sequence->wants_snapshot()) continue;
    PARLANCE_TRY(StateCopy states, runner_.save_states(*slice.sequence));
    slice.sequence->add_snapshot(std::move(states));
  }
  return is_done;
}

// Those whose text was computed whole add a token to their draft; those that have enough are done.
void ModelDrafter::write(std::vector<Writer>& writers) {
  const auto n_logits = static_cast<size_t>(context_->model().model().n_vocab());
  std::span<const float> outputs = runner_.outputs();
  std::erase_if(writers, [&](const Writer& writer) {
    DraftJob& job = *writer.job;
    if (writer.sequence->n_computed() <= job.sequence->n_tokens()) writer.sequence->remember_pages();
    if (writer.n_rows == 0 || writer.sequence->n_missing() > 0) return false;
    const std::span<const float> logits = outputs.first(static_cast<size_t>(n_vocab_));
    outputs = outputs.subspan(n_logits);
    if (!job.sampler->propose(logits, job.least_probability, job.draft)) return true;
    const Token token = job.draft.tokens.back();
    return job.draft.n_tokens() >= job.most || context_->model().tokenizer().is_end_of_generation(token) ||
           !writer.sequence->append_draft({&token, 1});
  });
}

Result<void> ModelDrafter::read(std::span<DraftJob* const> jobs) {
  std::vector<Writer> writers = writers_of(jobs);
  PARLANCE_CHECK(step(writers, /*reads_only=*/true));
  for (const Writer& writer : writers) writer.sequence->remember_pages();
  return {};
}

Result<void> ModelDrafter::draft(std::span<DraftJob* const> jobs) {
  std::vector<Writer> writers = writers_of(jobs);
  while (!writers.empty()) {
    PARLANCE_TRY(const bool is_done, step(writers));
    if (!is_done) {
      for (DraftJob* const job : jobs) job->draft = {};
      return {};
    }
    write(writers);
    std::erase_if(writers, [](const Writer& writer) { return writer.job->cancellation.cancelled(); });
  }
  return {};
}

}  // namespace parlance
