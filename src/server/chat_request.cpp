#include "server/chat_request.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "server/answer_format.h"
#include "server/chat_messages.h"
#include "server/chat_tools.h"
#include "server/voices.h"

namespace parlance {

namespace {

constexpr size_t kMostTemplateBytes = size_t{4} << 10;
constexpr size_t kMostMetadata = 16;

// How many tokens of thoughts an effort is worth; none: there is no limit.
std::optional<int64_t> thoughts_for(std::string_view effort) {
  if (effort == "low") return 512;
  if (effort == "medium") return 2048;
  if (effort == "high") return 8192;
  if (effort == "xhigh") return 16384;
  return std::nullopt;
}

ApiResult<void> read_thinking(const Site& site, const Body& body, ChatRequest& chat) {
  PromptManner& manner = chat.manner;
  manner.has_thinking = site.options.thinks;
  if (const auto effort = body.text("reasoning_effort")) {
    manner.has_thinking = *effort != "none" && *effort != "minimal";
    chat.n_most_thoughts = thoughts_for(*effort);
  }
  if (const auto budget = body.integer("reasoning_budget"))
    chat.n_most_thoughts = *budget < 0 ? std::nullopt : budget;
  const Json* variables = body.find("chat_template_kwargs");
  if (!variables) return {};
  manner.variables_json = variables->line();
  if (manner.variables_json.size() > kMostTemplateBytes) {
    return refuse("invalid_value", "chat_template_kwargs", "chat_template_kwargs may have {} bytes",
                  kMostTemplateBytes);
  }
  const Body named(*variables);
  if (named.has("enable_thinking")) manner.has_thinking = named.boolean("enable_thinking");
  return {};
}

ApiResult<bool> wants_sound(const Body& body) {
  const Json* modalities = body.find("modalities");
  if (!modalities) return false;
  bool has_words = false, has_sound = false;
  const std::vector<Json> elements = *modalities->elements();
  for (const Json& one : elements) {
    if (one.text() == "text" && !std::exchange(has_words, true)) continue;
    if (one.text() == "audio" && !std::exchange(has_sound, true)) continue;
    has_words = false;
    break;
  }
  if (has_words) return has_sound;
  return refuse(
      "unsupported_value", "modalities",
      "modalities can be [\"text\"] or [\"text\", \"audio\"]; POST /v1/audio/speech makes sound alone");
}

ApiResult<void> check_metadata(const Body& body) {
  const auto members = body.object("metadata").members();
  const bool fits =
      members.size() <= kMostMetadata && std::all_of(members.begin(), members.end(), [](const auto& m) {
        return m.first.size() <= 64 && m.second.text() && m.second.text()->size() <= 512;
      });
  if (fits) return {};
  return refuse("invalid_value", "metadata", "metadata may have {} texts of 512 bytes, under names of 64",
                kMostMetadata);
}

}  // namespace

ApiResult<ChatRequest> read_chat(Site& site, const Body& body) {
  const Json* messages = body.find("messages");
  if (!messages)
    return refuse("missing_required_parameter", "messages", "there are no messages; give the conversation");
  ChatRequest chat;
  PARLANCE_API_TRY(chat.messages, read_messages(*messages));
  std::vector<OfferedTool> offered;
  if (const Json* tools = body.find("tools")) {
    PARLANCE_API_TRY(offered, read_tools(*tools));
    if (!offered.empty()) chat.manner.tools_json = tools->line();
  }
  const bool has_tools = !offered.empty();
  PARLANCE_API_TRY(const ToolChoice choice, read_tool_choice(body, offered));
  chat.is_one_call = !body.boolean("parallel_tool_calls", true);
  if (choice != ToolChoice::none) {
    for (const OfferedTool& tool : offered) chat.tools.emplace(tool.name, tool.texts);
  }
  const bool has_family = site.tool_family != ToolFamily::none;
  if (!chat.manner.tools_json.empty() && !has_family) {
    describe_tools(std::exchange(chat.manner.tools_json, {}), chat.messages);
    chat.is_described = true;
    chat.notes.emplace_back("tools by generic prompt");
  }
  const TextModel& model = site.text->model();
  const bool is_forced = choice == ToolChoice::required || choice == ToolChoice::named;
  PARLANCE_API_TRY(chat.grammar, read_answer_format(site.grammars, model, body, is_forced));
  if (choice == ToolChoice::none) offered.clear();
  if (!chat.grammar && has_tools) {
    PARLANCE_API_TRY(chat.grammar,
                     read_call_grammar(site.grammars, model, std::move(offered),
                                       {.family = has_family ? site.tool_family : ToolFamily::hermes,
                                        .choice = choice,
                                        .is_one = chat.is_one_call,
                                        .holds_free = site.options.has_tool_grammar},
                                       chat.notes));
  }
  PARLANCE_API_TRY(chat.is_spoken, wants_sound(body));
  PARLANCE_API_CHECK(check_metadata(body));
  PARLANCE_API_CHECK(read_thinking(site, body, chat));
  return chat;
}

ApiResult<std::string> chat_text(const Site& site, const ChatRequest& chat) {
  auto text = prompt_text(site.text->model(), chat.messages, chat.manner);
  if (text) return *std::move(text);
  ApiError error = api_error(text.error());
  if (!error.param) error.param = "messages";
  return tl::unexpected(std::move(error));
}

bool begins_in_thoughts(const ChatRequest& chat, std::string_view prompt) {
  const size_t opened = prompt.rfind("<think>"), closed = prompt.rfind("</think>");
  const bool is_open =
      opened != std::string_view::npos && (closed == std::string_view::npos || closed < opened);
  return is_open && chat.manner.has_thinking.value_or(true);
}

std::optional<ThoughtLimit> thought_limit_of(const Site& site, const ChatRequest& chat,
                                             std::string_view prompt) {
  if (!chat.n_most_thoughts || chat.manner.has_thinking == false) return std::nullopt;
  const Tokenizer& tokenizer = site.text->model().tokenizer();
  ThoughtLimit limit{.n_most = *chat.n_most_thoughts,
                     .is_open = begins_in_thoughts(chat, prompt),
                     .open = tokenizer.find("<think>"),
                     .close = tokenizer.find("</think>")};
  if (!limit.close) return std::nullopt;  // what the model thinks cannot be told from what it says
  // A form begins behind the mark, and need not allow empty lines.
  limit.end = tokenizer.encode(chat.grammar ? "\n</think>" : "\n</think>\n\n",
                               {.add_special = false, .parse_special = true});
  return limit;
}

AnswerReaderOptions reader_for(const Site& site, const ChatRequest& chat, std::string_view prompt) {
  const ToolFamily family = chat.is_described ? ToolFamily::hermes : site.tool_family;
  return {.family = chat.tools.empty() ? ToolFamily::none : family,
          .tools = chat.tools,
          .begins_in_thoughts = begins_in_thoughts(chat, prompt)};
}

ApiResult<SpokenTerms> read_spoken(const Site& site, const Body& body) {
  PARLANCE_API_CHECK(find_offer(site, std::nullopt, ModelKind::tts));
  if (body.integer("n").value_or(1) != 1)
    return refuse("unsupported_value", "n",
                  "one answer can be spoken, not several; leave out n or the sound");
  const Body audio = body.object("audio");
  SpokenTerms terms;
  auto voice = find_offered_voice(site, audio);
  if (!voice) {
    voice.error().param = "audio.voice";
    return tl::unexpected(std::move(voice.error()));
  }
  terms.voice = *std::move(voice);
  const bool is_streamed = body.boolean("stream");
  const std::string name = audio.text("format").value_or(is_streamed ? "pcm16" : "wav");
  const auto format = name == "pcm16" ? SoundFormat::pcm : sound_format_from_name(name);
  if (!format || name == "pcm") {
    return refuse("unsupported_value", "audio.format",
                  "audio.format can be wav, mp3, flac, opus or pcm16, got {}", Json(name).line());
  }
  if (is_streamed && *format != SoundFormat::pcm) {
    return refuse("unsupported_value", "audio.format",
                  "sound is streamed as pcm16 (16 bits, 24 kHz) alone, not as {}", name);
  }
  terms.format = *format;
  return terms;
}

}  // namespace parlance
