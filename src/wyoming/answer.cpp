#include "assistant/conversation.h"
#include "engine/request.h"
#include "wyoming/services.h"

namespace parlance {

namespace {

// Ids are kept: none is longer than they are anywhere else.
constexpr size_t kMostIdBytes = 256;

// What the model is told: as much of the conversation, from its end, as leaves room for an answer.
Result<std::vector<Token>> prompt_of(const TextRegion& region, const std::string& system,
                                     const std::deque<Message>& messages, const std::string& question,
                                     int64_t n_answer) {
  const int64_t n_ctx = region.context()->options().n_ctx;
  for (size_t n_left_out = 0;; n_left_out += 2) {
    std::vector<Message> all;
    if (!system.empty()) all.push_back({"system", system});
    all.insert(all.end(), messages.begin() + static_cast<ptrdiff_t>(n_left_out), messages.end());
    all.push_back({"user", question});
    PARLANCE_TRY(auto prompt, prompt_tokens(region.model(), all, /*has_thinking=*/false));
    if (std::ssize(prompt) + n_answer <= n_ctx || n_left_out >= messages.size()) return prompt;
  }
}

// Sends the answer as it is made; yields all of it.
Result<std::string> make_answer(const TextRegion& region, std::vector<Token> prompt, GenerateOptions options,
                                JobPort& port) {
  options.work.priority = Priority::realtime;
  options.work.cancellation = port.ticket();
  PARLANCE_TRY(const auto request, Request::start(region.context(), std::move(prompt), options));
  std::string answer;
  while (const auto piece = request->next()) {
    if (piece->text.empty()) continue;
    answer += piece->text;
    port.send({.type = "handled-chunk", .data = Json::object({{"text", piece->text}})});
  }
  PARLANCE_CHECK(request->result());
  return answer;
}

}  // namespace

Result<void> answer_for_wyoming(Regions& regions, const WyomingSetup& setup, ConversationMemory& memory,
                                const WyomingEvent& first, JobPort& port) {
  const std::string question = first.text("text");
  const Json context = first.data.member("context").value_or(Json());
  const auto given = context.member("conversation_id");
  const std::string id = given ? given->text().value_or("") : "";
  if (id.size() > kMostIdBytes) {
    return fail(ErrorCode::invalid_argument, "context.conversation_id has more than {} bytes", kMostIdBytes);
  }
  const auto conversation =
      id.empty() ? std::make_shared<ConversationMemory::Conversation>() : memory.open("conv:" + id);
  const std::lock_guard lock(conversation->mutex);
  if (port.ticket().cancelled()) return {};
  bool has_begun = false;
  const auto answered = [&]() -> Result<std::string> {
    PARLANCE_TRY(const auto region, regions.text.acquire());
    const int64_t n_ctx = region->context()->options().n_ctx;
    GenerateOptions options = setup.generate;
    if (options.max_tokens < 0) options.max_tokens = std::min<int64_t>(n_ctx / 4, 1024);
    PARLANCE_TRY(auto prompt,
                 prompt_of(*region, setup.system, conversation->messages, question, options.max_tokens));
    port.send({.type = "handled-start"});
    has_begun = true;
    return make_answer(*region, std::move(prompt), options, port);
  }();
  if (port.ticket().cancelled()) return {};
  if (!answered) {
    port.send({.type = "not-handled", .data = Json::object({{"text", answered.error().message}})});
  } else {
    conversation->add_turn(question, *answered);
    port.send({.type = "handled", .data = Json::object({{"text", *answered}, {"context", context}})});
  }
  if (has_begun) port.send({.type = "handled-stop"});
  return {};
}

}  // namespace parlance
