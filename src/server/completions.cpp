// POST /v1/chat/completions and /v1/completions.
#include <ctime>

#include "assistant/answer_form.h"
#include "assistant/conversation.h"
#include "base/random_id.h"
#include "server/answer_format.h"
#include "server/answer_json.h"
#include "server/answer_terms.h"
#include "server/chat_audio.h"
#include "server/chat_messages.h"
#include "server/chat_request.h"
#include "server/prompts.h"
#include "server/site.h"
#include "server/text_answer.h"

namespace parlance {

namespace {

constexpr size_t kMostPrompts = 16;

std::unique_ptr<AnswerWriter> writer_for(const Site& site, const TextAnswerTerms& terms, bool is_chat) {
  return std::make_unique<CompletionWriter>(
      AnswerEnvelope{.is_chat = is_chat,
                     .wants_usage = terms.wants_usage,
                     .id = random_id(is_chat ? "chatcmpl-" : "cmpl-"),
                     .created_unix_s = std::time(nullptr),
                     .model = terms.model,
                     .fingerprint = site.fingerprint,
                     .has_logprobs = terms.generate.n_top_logprobs.has_value(),
                     .audio_id = terms.spoken ? random_id("audio_") : ""},
      site.text->model().tokenizer());
}

}  // namespace

ApiResult<TextAnswerTerms> read_chat_terms(Site& site, const Call& call, const Body& body) {
  PARLANCE_API_TRY(const ChatRequest chat, read_chat(site, body));
  for (const Message& message : chat.messages) {
    if (message.role == "system") site.conversations->note_system_text(message.content);
  }
  PARLANCE_API_TRY(TextAnswerTerms terms, read_terms(site, call, body));
  if (body.boolean("logprobs")) {
    terms.generate.n_top_logprobs = static_cast<int>(body.integer("top_logprobs").value_or(0));
  }
  PARLANCE_API_TRY(const std::string prompt, chat_text(site, chat));
  // Where the template decides, only a prompt that opens thoughts makes sure that they end.
  const bool thinks = chat.manner.has_thinking.value_or(begins_in_thoughts(chat, prompt));
  PARLANCE_API_CHECK(follow(chat.grammar, site.text->model(), thinks, terms.generate));
  terms.generate.thoughts = thought_limit_of(site, chat, prompt);
  terms.reader = reader_for(site, chat, prompt);
  terms.is_one_call = chat.is_one_call;
  if (chat.is_spoken) {
    PARLANCE_API_TRY(terms.spoken, read_spoken(site, body));
  } else if (body.has("audio")) {
    terms.ignored.emplace_back("audio");
  }
  for (const std::string& note : chat.notes) terms.note += (terms.note.empty() ? "" : "; ") + note;
  terms.prompts.push_back(tokens_of_prompt(site.text->model(), prompt));
  PARLANCE_API_CHECK(fit_to_context(site, "messages", terms));
  return terms;
}

namespace {

ApiResult<void> answer_chat(Site& site, Call& call, const CheckedBody& checked,
                            std::vector<std::string> transcripts) {
  PARLANCE_API_TRY(TextAnswerTerms terms, read_chat_terms(site, call, checked.body));
  terms.ignored.insert(terms.ignored.begin(), checked.ignored.begin(), checked.ignored.end());
  terms.input_transcripts = std::move(transcripts);
  terms.writer = writer_for(site, terms, /*is_chat=*/true);
  return start_text_answer(site, call, std::move(terms));
}

}  // namespace

ApiResult<void> complete_chat(Site& site, Call& call) {
  PARLANCE_API_TRY(const CheckedBody checked, read_body(site, call, chat_fields()));
  if (!has_recordings(checked.body)) return answer_chat(site, call, checked, {});
  return hear_recordings(site, call, checked.body,
                         [&site, ignored = checked.ignored](Call& own, HeardChat heard) {
                           return answer_chat(site, own, {.body = std::move(heard.chat), .ignored = ignored},
                                              std::move(heard.transcripts));
                         });
}

ApiResult<void> complete_text(Site& site, Call& call) {
  PARLANCE_API_TRY(const CheckedBody checked, read_body(site, call, completion_fields()));
  const Body& body = checked.body;
  const Json* prompt = body.find("prompt");
  if (!prompt) return refuse("missing_required_parameter", "prompt", "there is no prompt; give a text");
  PARLANCE_API_TRY(const auto grammar, read_answer_format(site.grammars, site.text->model(), body));
  PARLANCE_API_TRY(TextAnswerTerms terms, read_terms(site, call, body));
  PARLANCE_API_CHECK(follow(grammar, site.text->model(), /*has_thinking=*/false, terms.generate));
  terms.ignored = checked.ignored;
  if (const auto n = body.integer("logprobs")) terms.generate.n_top_logprobs = static_cast<int>(*n);
  PARLANCE_API_TRY(terms.prompts, read_prompts(*prompt, {.name = "prompt",
                                                         .n_most = kMostPrompts,
                                                         .model = site.text->model(),
                                                         .tokens_of = tokens_of_prompt}));
  PARLANCE_API_CHECK(fit_to_context(site, "prompt", terms));
  terms.writer = writer_for(site, terms, /*is_chat=*/false);
  if (body.boolean("echo")) {
    for (const auto& tokens : terms.prompts) {
      terms.echoes.push_back(site.text->model().tokenizer().decode(tokens));
    }
  }
  return start_text_answer(site, call, std::move(terms));
}

}  // namespace parlance
