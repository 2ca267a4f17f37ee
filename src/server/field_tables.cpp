// Which fields there are. The order is that of the documentation.
#include <array>

#include "server/fields.h"

namespace parlance {

namespace {

using enum FieldClass;
using enum FieldType;

constexpr Field act(std::string_view name, FieldType type, std::string_view about, double lowest = -kNoLimit,
                    double highest = kNoLimit) {
  return {.name = name, .type = type, .lowest = lowest, .highest = highest, .about = about};
}
constexpr Field up_to_context(std::string_view name, std::string_view about, double lowest) {
  return {.name = name, .type = integer, .lowest = lowest, .is_up_to_context = true, .about = about};
}
constexpr Field one_of(std::string_view name, std::string_view words, std::string_view about) {
  return {.name = name, .type = choice, .words = words, .about = about};
}
constexpr Field pass_over(std::string_view name, FieldType type, std::string_view about = {}) {
  return {.name = name, .field_class = ignored, .type = type, .about = about};
}
constexpr Field only(std::string_view name, std::string_view value, std::string_view about) {
  return {.name = name, .field_class = neutral, .type = any, .words = value, .about = about};
}
constexpr Field never(std::string_view name, std::string_view remedy) {
  return {.name = name, .field_class = refused, .type = any, .about = remedy};
}

// What chats and completions share.
constexpr std::array kShared = {
    act("model", text, "which model answers; absent or \"default\": the text model"),
    up_to_context("max_tokens", "most tokens of the answer; 0: the prompt is computed and nothing said", 0),
    act("temperature", number, "how adventurous; 0 always takes the likeliest token", 0, 2),
    Field{.name = "top_p",
          .type = number,
          .lowest = 0,
          .highest = 1,
          .is_open = true,
          .about = "choose among the likeliest tokens that together have this probability"},
    act("top_k", integer, "choose among so many of the likeliest tokens; 0: all", 0),
    act("min_p", number, "leave out tokens less likely than this times the likeliest", 0, 1),
    act("presence_penalty", number, "taken from the logit of each token that was said", -2, 2),
    act("frequency_penalty", number, "the same for each time that it was said", -2, 2),
    act("repetition_penalty", number, "divides the logits of tokens that were said", 0.1, 2),
    act("repeat_penalty", number, "another name of repetition_penalty", 0.1, 2),
    act("repeat_last_n", integer, "tokens that penalties look back on; -1: all", -1),
    act("seed", integer, "the same seed and request give the same answer; absent: a new one each time"),
    act("stop", text_or_array, "a text, or up to 16, where the answer ends", 1, 16),
    act("stop_token_ids", array, "tokens that end the answer"),
    act("ignore_eos", boolean, "go on when the model would end"),
    act("min_tokens", integer, "the model may not end before", 0),
    act("n", integer, "answers to one prompt, which is computed once", 1, 8),
    act("logit_bias", object, "token to what is added to its logit, -100 to 100; -100 forbids it", 0, 1024),
    act("stream", boolean, "send the answer while it is made"),
    act("stream_options.include_usage", boolean, "a last chunk says how many tokens there were"),
    pass_over("stream_options.include_obfuscation", boolean),
    act("response_format", object, "text, json_object or json_schema"),
    act("grammar", text, "a grammar (GBNF) that the answer keeps", 0, 65536),
    act("json_schema", object, "a JSON schema that the answer keeps"),
    act("structured_outputs", object, "json, regex, choice or grammar"),
    act("prompt_cache_key", text, "what requests of one user or purpose have in common"),
    one_of("prompt_cache_retention", "in_memory|24h", "how long what was computed is worth keeping"),
    act("prompt_cache_options", object, "ttl: \"30m\""),
    act("parlance", object, "conversation_id, prompt_segments, prefix_hash, ttl, class, deadline_ms"),
    act("id_slot", integer, "the slot that the request goes by, where nothing above names a conversation"),
    act("slot_id", integer, "the same under another name"),
    act("cache_prompt", boolean, "false: what was computed before is not used, and nothing is remembered"),
    act("cache_salt", text, "nothing is shared with requests that have another one"),
    act("session_id", text, "the conversation that the request belongs to"),
    act("priority", integer, "above 0: others go first"),
    pass_over("user", text),
    pass_over("return_tokens", boolean),
    pass_over("timings_per_token", boolean),
    never("use_beam_search", "answers are sampled; leave it out"),
};

constexpr std::array kChatOnly = {
    act("messages", array, "the conversation: system, developer, user, assistant, tool", 1, 4096),
    up_to_context("max_completion_tokens", "the newer name of max_tokens", 0),
    act("logprobs", boolean, "how likely each token was"),
    act("top_logprobs", integer, "the same of so many others", 0, 20),
    act("tools", array, "functions that the model may call", 0, 128),
    act("tool_choice", text_or_object, "none, auto, required, or one of them"),
    act("parallel_tool_calls", boolean, "false: one call at most"),
    never("functions", "use \"tools\""),
    never("function_call", "use \"tool_choice\""),
    one_of("reasoning_effort", "none|minimal|low|medium|high|xhigh|max",
           "whether the model thinks before it answers"),
    act("reasoning_budget", integer, "most tokens of thinking"),
    act("chat_template_kwargs", object, "variables of the chat template; at most 4 KiB"),
    act("modalities", array, "[\"text\"], or with \"audio\": the answer is spoken, too"),
    act("audio", object, "how: voice, and format wav, mp3, flac, opus or pcm16 (the only one of streams)"),
    act("service_tier", text, "flex: others go first"),
    pass_over("prediction", object),
    pass_over("safety_identifier", text),
    pass_over("metadata", object, "at most 16 texts of 512 characters"),
    pass_over("store", boolean),
    pass_over("verbosity", text),
    never("web_search_options", "there is no search here; give what is known as messages"),
    never("moderation", "there is no moderation here"),
    never("documents", "give documents as messages"),
    never("chat_template", "the template is the model's own"),
    never("best_of", "use \"n\" and choose"),
};

constexpr std::array kCompletionOnly = {
    act("prompt", text_or_array, "a text, tokens, or up to 16 of them", 1, 16),
    act("echo", boolean, "the prompt stands before the answer"),
    act("logprobs", integer, "how likely each token was, and so many others", 0, 5),
    never("suffix", "there is no text behind the answer; give what comes before"),
    only("best_of", "1", "every answer is given"),
};

constexpr std::array kEmbedding = {
    act("input", text_or_array, "a text, tokens, or up to 2048 of them", 1, 2048),
    act("model", text, "which model embeds; absent or \"default\": the one there is"),
    one_of("encoding_format", "float|base64",
           "numbers, or their bytes: 32-bit floats, the lowest byte first"),
    act("dimensions", integer, "only so many of the first values, scaled to length 1 again", 1),
    pass_over("user", text),
};

constexpr std::array kResponses = {
    act("input", text_or_array, "a text, or items: messages, calls, what they gave, references", 0, 4096),
    act("instructions", text, "what the model is told before all else"),
    act("model", text, "which model answers; absent or \"default\": the text model"),
    up_to_context("max_output_tokens", "most tokens of the answer", 1),
    act("temperature", number, "how adventurous; 0 always takes the likeliest token", 0, 2),
    Field{.name = "top_p",
          .type = number,
          .lowest = 0,
          .highest = 1,
          .is_open = true,
          .about = "choose among the likeliest tokens that together have this probability"},
    act("tools", array, "functions that the model may call", 0, 128),
    act("tool_choice", text_or_object, "none, auto, required, or one of them"),
    act("parallel_tool_calls", boolean, "false: one call at most"),
    act("text.format", object, "text, json_object or json_schema"),
    act("reasoning.effort", text,
        "none, minimal, low, medium, high, xhigh, max: whether the model thinks first"),
    act("stream", boolean, "send events while the answer is made"),
    act("store", boolean, "keep the response for an hour; false: no"),
    act("previous_response_id", text, "go on from a response that was kept"),
    act("metadata", object, "at most 16 texts of 512 characters, told again"),
    one_of("truncation", "auto|disabled", "auto: the oldest items go where the context is too small"),
    act("top_logprobs", integer, "how likely each token was, and so many others", 0, 20),
    act("prompt_cache_key", text, "what requests of one user or purpose have in common"),
    pass_over("include", array),
    pass_over("user", text),
    pass_over("service_tier", text),
    only("background", "false", "answers are given at once"),
    never("conversation", "use \"previous_response_id\""),
    never("prompt", "there are no stored prompts; use \"instructions\""),
};

// What both of Ollama's ways to ask share.
constexpr std::array kOllama = {
    act("model", text, "which model answers, with or without :latest"),
    act("stream", boolean, "one object a line while the answer is made; absent: yes"),
    act("think", any, "true, false, low, medium or high: whether the model thinks first"),
    act("format", any, "\"json\", or a JSON schema that the answer keeps"),
    act("options.temperature", number, "how adventurous; 0 always takes the likeliest token", 0, 2),
    act("options.top_k", integer, "choose among so many of the likeliest tokens; 0: all", 0),
    Field{.name = "options.top_p",
          .type = number,
          .lowest = 0,
          .highest = 1,
          .is_open = true,
          .about = "choose among the likeliest tokens that together have this probability"},
    act("options.min_p", number, "leave out tokens less likely than this times the likeliest", 0, 1),
    act("options.seed", integer, "the same seed and request give the same answer"),
    act("options.stop", text_or_array, "a text, or up to 16, where the answer ends", 1, 16),
    act("options.num_predict", integer, "most tokens of the answer; below 0: as many as there may be"),
    act("options.repeat_penalty", number, "divides the logits of tokens that were said", 0.1, 2),
    act("options.repeat_last_n", integer, "tokens that penalties look back on; -1: all", -1),
    act("options.presence_penalty", number, "taken from the logit of each token that was said", -2, 2),
    act("options.frequency_penalty", number, "the same for each time that it was said", -2, 2),
    pass_over("options.num_ctx", integer, "the context is the server's"),
    act("parlance", object, "conversation_id, class, deadline_ms"),
    act("session_id", text, "the conversation that the request belongs to"),
    pass_over("keep_alive", any, "the model stays"),
};

constexpr std::array kOllamaChatOnly = {
    act("messages", array,
        "the conversation: system, user, assistant, tool; none: whether the model is there", 0, 4096),
    act("tools", array, "functions that the model may call", 0, 128),
};

constexpr std::array kOllamaGenerateOnly = {
    act("prompt", text, "what the model is asked; none: whether it is there"),
    act("system", text, "what the model is told before"),
    act("raw", boolean, "the prompt is put to the model as it is, without its chat template"),
    pass_over("context", array),
    never("suffix", "there is no text behind the answer; give what comes before"),
    never("images", "this model sees no images"),
    never("template", "the template is the model's own"),
};

constexpr std::array kPrewarm = {
    act("messages", array, "what the conversation begins with, mostly the system message", 1, 4096),
    act("tools", array, "functions that the model may call", 0, 128),
    act("conversation_id", text, "the conversation that will begin so"),
    one_of("ttl", "short|long|extended", "how long it is worth keeping: 5 minutes, an hour, a day"),
    act("pin", boolean, "keep it for good"),
    act("wait", boolean, "false: answer at once with 202, and compute it when nobody waits"),
    one_of("class", "interactive|background", "background: others go first"),
    act("model", text, "which model answers; absent or \"default\": the text model"),
    act("tool_choice", text_or_object, "as the chats will have it"),
    one_of("reasoning_effort", "none|minimal|low|medium|high|xhigh|max", "as the chats will have it"),
    act("chat_template_kwargs", object, "as the chats will have it"),
    act("parlance", object, "as in a chat"),
    act("session_id", text, "another name of conversation_id"),
    act("prompt_cache_key", text, "as in a chat"),
    act("cache_salt", text, "as in a chat"),
};

constexpr std::array kSpeech = {
    act("input", text, "what is said", 1, 4096),
    act("model", text, "which model speaks; absent or \"default\": the one there is"),
    act("voice", text_or_object, "a voice of GET /v1/audio/voices"),
    one_of("response_format", "mp3|opus|flac|wav|pcm", "24 kHz, one channel"),
    act("speed", number, "how fast; 1 is the voice's own", 0.25, 4),
    act("instructions", text, "tags of a voice, such as \"female, low pitch\", where none is named"),
    one_of("stream_format", "audio|sse", "sound as it is, or as events"),
    act("language", text, "name or code; absent: as the text says"),
    act("seed", integer, "the same seed gives the same sound"),
    act("steps", integer, "how often the sound is gone over; absent: as often as the quality says"),
    act("guidance", number, "how closely text and voice are kept to"),
    act("ref_audio", base64, "a recording to speak like", 0, 4194304),
    act("ref_text", text, "the words in it; absent: what is heard in it"),
};

constexpr std::array kClientSecret = {
    one_of("expires_after.anchor", "created_at", "from when it counts"),
    act("expires_after.seconds", integer, "how long sockets can be opened with it; absent: 600", 10, 7200),
    act("session", object,
        "what sessions are set to that are opened with it; `type` is realtime or transcription"),
};

constexpr std::array kTranscription = {
    act("file", file, "the recording: WAV, FLAC, Ogg, WebM (Opus), MP3 or AIFF, 30 minutes at most", 1,
        67108864),
    act("model", text, "which model listens"),
    act("language", text, "name or code; absent: found out"),
    act("prompt", text, "what the recording is about"),
    act("keywords", array, "words that may come up"),
    one_of("response_format", "json|text|srt|vtt|verbose_json", "how the transcript is written"),
    act("timestamp_granularities", array, "segment, word"),
    act("stream", boolean, "send the text while it is heard"),
    act("chunking_strategy", text_or_object, "auto: speech is found first"),
    only("include", "[]", "there is nothing to include"),
    pass_over("languages", array, "the first one counts"),
    only("temperature", "0", "transcripts are not sampled"),
    never("known_speaker_names", "speakers are not told apart"),
    never("known_speaker_references", "speakers are not told apart"),
};

template <size_t A, size_t B>
constexpr std::array<Field, A + B> joined(const std::array<Field, A>& a, const std::array<Field, B>& b) {
  std::array<Field, A + B> all;
  for (size_t i = 0; i < A; ++i) all[i] = a[i];
  for (size_t i = 0; i < B; ++i) all[A + i] = b[i];
  return all;
}

constexpr auto kChat = joined(kChatOnly, kShared);
constexpr auto kCompletion = joined(kCompletionOnly, kShared);
constexpr auto kOllamaChat = joined(kOllamaChatOnly, kOllama);
constexpr auto kOllamaGenerate = joined(kOllamaGenerateOnly, kOllama);

}  // namespace

std::span<const Field> chat_fields() {
  return kChat;
}
std::span<const Field> client_secret_fields() {
  return kClientSecret;
}
std::span<const Field> completion_fields() {
  return kCompletion;
}
std::span<const Field> embedding_fields() {
  return kEmbedding;
}
std::span<const Field> responses_fields() {
  return kResponses;
}
std::span<const Field> ollama_chat_fields() {
  return kOllamaChat;
}
std::span<const Field> ollama_generate_fields() {
  return kOllamaGenerate;
}
std::span<const Field> prewarm_fields() {
  return kPrewarm;
}
std::span<const Field> speech_fields() {
  return kSpeech;
}
std::span<const Field> transcription_fields() {
  return kTranscription;
}

}  // namespace parlance
