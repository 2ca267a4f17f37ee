// What is told of an answer: to its client, in the metrics and in the log.
#include <algorithm>

#include "bundle/sha256.h"
#include "server/text_answer_states.h"

namespace parlance {

// What GET /slots says of it meanwhile.
void TextAnswer::note_progress(int64_t n_more) {
  n_decoded_ += n_more;
  const int64_t n_cached = choices_.front().result.n_prompt_cached;
  conversation_->progress(n_cached, n_decoded_,
                          std::max<int64_t>(0, terms_.generate.max_tokens - n_decoded_));
}

// The member "parlance".
Json TextAnswer::summary() const {
  Json json = Json::object(
      {{"conversation_id", terms_.conversation.id.empty() ? Json() : Json(terms_.conversation.id)},
       {"slot", slot_},
       {"seed", static_cast<int64_t>(terms_.generate.sampling.seed)},
       {"class", terms_.class_name},
       {"queue_ms", choices_.front().result.queue_ms},
       {"ttft_ms", 1000 * ttft_s_}});
  if (has_deadline_passed_) json.set("deadline", true);
  if (!terms_.input_transcripts.empty()) {
    Json transcripts = Json::array();
    for (const std::string& words : terms_.input_transcripts) transcripts.push(words);
    json.set("input_transcripts", transcripts);
  }
  return json;
}

void TextAnswer::count(const ChoiceText& choice) {
  const GenerateResult& result = choice.result;
  Metrics& m = site_.metrics;
  const auto n_prompt = static_cast<double>(result.n_prompt),
             n_cached = static_cast<double>(result.n_prompt_cached);
  const double n_said = n_generated(result);
  m.add("requests_finished_total", 1, {{"kind", "text"}, {"reason", name_of(result.finish_reason)}});
  m.observe("queue_seconds", result.queue_ms / 1000, {{"class", terms_.class_name}});
  m.add("prompt_tokens_total", n_prompt);
  const double n_from_file = std::min(static_cast<double>(n_restored_), n_cached);
  m.add("prompt_cached_tokens_total", n_cached - n_from_file, {{"tier", "device"}});
  m.add("prompt_cached_tokens_total", n_from_file, {{"tier", "disk"}});
  m.add("generated_tokens_total", n_said);
  m.add("reasoning_tokens_total", static_cast<double>(choice.n_thought_tokens));
  m.raise("llamacpp:n_tokens_max", n_prompt + n_said);
  m.add("draft_tokens_total", static_cast<double>(result.draft.n_drafted));
  m.add("draft_accepted_tokens_total", static_cast<double>(result.draft.n_accepted));
  m.add("llamacpp:prompt_tokens_total", n_prompt - n_cached);
  m.add("llamacpp:prompt_seconds_total", (result.prefill_ms - result.queue_ms) / 1000);
  m.add("llamacpp:tokens_predicted_total", n_said);
  m.add("llamacpp:tokens_predicted_seconds_total", result.decode_ms / 1000);
  m.add("llamacpp:n_drafted_total", static_cast<double>(result.draft.n_drafted));
  m.add("llamacpp:n_drafted_accepted_total", static_cast<double>(result.draft.n_accepted));
  m.add("llamacpp:spec_decode_num_draft_tokens_total", static_cast<double>(result.draft.n_drafted));
  m.add("llamacpp:spec_decode_num_accepted_tokens_total", static_cast<double>(result.draft.n_accepted));
}

void TextAnswer::log_prompts() const {
  const Tokenizer& tokenizer = site_.text->model().tokenizer();
  for (const auto& prompt : terms_.prompts)
    log_content(site_, request_id_, "prompt", tokenizer.decode(prompt, /*with_special=*/true));
}

void TextAnswer::log_answers() const {
  for (const ChoiceText& choice : choices_) {
    log_content(site_, request_id_, "thoughts", choice.thoughts);
    log_content(site_, request_id_, "answer", choice.words);
    for (const SaidCall& call : choice.calls)
      log_content(site_, request_id_, "call", fmt::format("{} {}", call.name, call.arguments));
  }
}

// For the log.
void TextAnswer::note() const {
  int64_t n_prompt = 0, n_cached = 0, n_said = 0;
  for (const ChoiceText& choice : choices_) {
    n_said += static_cast<int64_t>(n_generated(choice.result));
    if (!choice.is_first_of_prompt) continue;
    n_prompt += choice.result.n_prompt;
    n_cached += choice.result.n_prompt_cached;
  }
  notes_->add("class", terms_.class_name);
  if (!terms_.conversation.id.empty()) {
    // Not the name itself, which may be somebody's.
    const auto bytes = std::as_bytes(std::span(terms_.conversation.id));
    notes_->add("conv", sha256(bytes).substr(0, 8));
  }
  notes_->add("prompt", n_prompt);
  notes_->add("cached", n_cached);
  notes_->add("generated", n_said);
  notes_->add("queue_ms", choices_.front().result.queue_ms);
  notes_->add("ttft_ms", 1000 * ttft_s_);
  notes_->add("finish", choices_.front().finish_reason);
  if (const std::string ignored = ignored_text(terms_.ignored); !ignored.empty())
    notes_->add("ignored", ignored);
}

}  // namespace parlance
