#include "server/prewarm.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace parlance {

namespace {

using WarmClock = std::chrono::steady_clock;

constexpr std::string_view kSystemPrefix = "__system_prefix__";
// Of all positions that there are pages for, pinned texts may hold so many at most: what is pinned is room
// that nobody else has.
constexpr int64_t kPinnedShare = 2;

ApiResult<std::string> rendered(const Site& site, std::vector<Message> messages, PromptManner manner) {
  PARLANCE_API_TRY(std::string text, prompt_text(site.text->model(), messages, manner));
  return text;
}

// The conversation of the body under the name that other requests give it.
Body with_session_id(const Body& body) {
  Json object = Json::object({});
  for (const auto& [name, value] : body.members())
    object.set(name == "conversation_id" ? "session_id" : name, value);
  return Body(object);
}

// A beginning that is being computed. It keeps itself until it has ended.
class Warming final : public LiveAnswer, public std::enable_shared_from_this<Warming> {
 public:
  Warming(Site& site, Conversations::Open conversation, Conversations::Text text, Priority priority,
          const Cancellation& cancellation, std::function<void(const Result<Warmed>&)> on_warm)
      : site_(site),
        conversation_(std::move(conversation)),
        text_(std::move(text)),
        priority_(priority),
        source_(cancellation),
        on_warm_(std::move(on_warm)) {}

  void begin() {
    const bool waits = site_.conversations->restore(
        conversation_, text_, std::chrono::minutes(1),
        [self = shared_from_this()](int64_t) { self->site_.answers.post([self] { self->compute(); }); });
    if (!waits) compute();
  }

  void tick() override {}
  void cut() override {
    source_.cancel();
    site_.text->context()->scheduler().wake();
  }

 private:
  void compute() {
    const auto self = shared_from_this();
    GenerateOptions options;
    options.max_tokens = 0;
    options.work = {.cancellation = source_.ticket(), .priority = priority_, .sharing = text_->sharing};
    conversation_->begin(nullptr);
    const std::lock_guard lock(mutex_);  // before the end is looked at
    // While it waited, or the server ends: nobody would see the end of what is begun now.
    if (source_.ticket().cancelled()) return finish(was_cancelled());
    auto request = Request::start(site_.text->context(), text_->tokens, options,
                                  [self] { self->site_.answers.post([self] { self->look(); }); });
    if (!request) return finish(tl::unexpected(request.error()));
    request_ = *std::move(request);
    ++site_.n_running;
  }

  void look() {
    const std::lock_guard lock(mutex_);
    if (!request_ || !request_->has_ended()) return;
    auto result = request_->result();
    request_.reset();
    --site_.n_running;
    if (!result) return finish(tl::unexpected(result.error()));
    if (result->finish_reason == FinishReason::cancelled) return finish(was_cancelled());
    const auto n_prompt = static_cast<double>(result->n_prompt),
               n_cached = static_cast<double>(result->n_prompt_cached);
    site_.metrics.add("prompt_tokens_total", n_prompt);
    site_.metrics.add("prompt_cached_tokens_total", n_cached, {{"tier", "device"}});
    finish(Warmed{.n_tokens = result->n_prompt,
                  .n_cached = result->n_prompt_cached,
                  .ms = std::chrono::duration<double, std::milli>(WarmClock::now() - began_).count()});
  }

  static Result<Warmed> was_cancelled() {
    return fail(ErrorCode::cancelled, "the beginning was not computed: it was cancelled");
  }

  void finish(const Result<Warmed>& warmed) {
    conversation_->end(nullptr);
    on_warm_(warmed);
  }

  Site& site_;
  const Conversations::Open conversation_;
  const Conversations::Text text_;
  const Priority priority_;
  const CancellationSource source_;
  const std::function<void(const Result<Warmed>&)> on_warm_;
  const WarmClock::time_point began_ = WarmClock::now();
  std::mutex mutex_;
  std::unique_ptr<Request> request_;
};

// Whether there is room for one more text that stays.
bool may_pin(const Site& site, const Conversations::Open& conversation, int64_t n_tokens) {
  int64_t n_pinned = n_tokens;
  for (const auto& other : site.conversations->registry().all()) {
    const auto text = other->prefix();
    if (other != conversation && text && other->is_pinned()) n_pinned += std::ssize(text->tokens);
  }
  const Context& context = *site.conversations->context();
  const int64_t n_positions =
      int64_t{site.text->context()->pools()[PageKind::main].n_pages()} * context.layout().page_tokens;
  return n_pinned <= n_positions / kPinnedShare;
}

}  // namespace

ApiResult<std::vector<Token>> beginning_of(const Site& site, const ChatRequest& chat) {
  PromptManner manner = chat.manner;
  manner.awaits_answer = false;
  PARLANCE_API_TRY(const std::string alone, rendered(site, chat.messages, manner));
  // Who speaks next begins like the messages only up to a token that both have in common.
  const bool is_question = !chat.messages.empty() && chat.messages.back().role == "user";
  std::vector<Message> messages = chat.messages;
  if (is_question) {
    manner.awaits_answer = true;
  } else {
    messages.push_back({"user", "?"});
  }
  PARLANCE_API_TRY(const std::string followed, rendered(site, messages, manner));
  const TextModel& model = site.text->model();
  std::vector<Token> tokens = tokens_of_prompt(model, alone);
  const std::vector<Token> other = tokens_of_prompt(model, followed);
  tokens.erase(std::ranges::mismatch(tokens, other).in1, tokens.end());
  const int64_t n_ctx = site.text->context()->options().n_ctx;
  if (tokens.empty()) {
    return refuse("invalid_value", "messages",
                  "nothing of these messages stays the same whatever follows; give a system message");
  }
  if (std::ssize(tokens) > n_ctx - 1) {
    return refuse(
        "context_length_exceeded", "messages",
        "the messages have {} tokens and the context holds {}; shorten them, or start the server with "
        "a larger --ctx-size",
        tokens.size(), n_ctx);
  }
  return tokens;
}

void warm(Site& site, const Conversations::Open& conversation, Conversations::Text text, Priority priority,
          const Cancellation& cancellation, std::function<void(const Result<Warmed>&)> on_warm) {
  const auto warming = std::make_shared<Warming>(site, conversation, std::move(text), priority, cancellation,
                                                 std::move(on_warm));
  site.enter(warming);
  warming->begin();
}

void warm_again(Site& site, const Conversations::Open& conversation) {
  if (site.phase != ServerPhase::serving) return;
  const auto text = conversation->prefix();
  if (!text) return;
  warm(site, conversation, text, Priority::background, {},
       [&site, conversation](const Result<Warmed>& warmed) {
         if (!warmed)
           log_warning("a beginning that is kept warm was not computed: {}", warmed.error().message);
         if (warmed && conversation->is_pinned()) conversation->pin_prefix(site.conversations->context());
       });
}

ApiResult<void> prewarm(Site& site, Call& call) {
  PARLANCE_API_TRY(const CheckedBody checked, read_body(site, call, prewarm_fields()));
  const Body body = with_session_id(checked.body);
  PARLANCE_API_TRY(const std::string model, find_offer(site, body.text("model"), ModelKind::text));
  PARLANCE_API_TRY(ChatRequest chat, read_chat(site, body));
  PARLANCE_API_TRY(ConversationTerms terms, read_conversation(site, call, body));
  if (const auto ttl = body.text("ttl")) terms.lifetime = lifetime_from_name(*ttl);
  // Clients of other servers send the system message as a user's: where it is one that is known, it is meant.
  const auto& only = chat.messages.front();
  if (chat.messages.size() == 1 && only.role == "user" && site.conversations->is_system_text(only.content))
    chat.messages.front().role = "system";
  PARLANCE_API_TRY(auto tokens, beginning_of(site, chat));
  for (const Message& message : chat.messages) {
    if (message.role == "system") site.conversations->note_system_text(message.content);
  }
  const bool is_conversation = !terms.name.id.empty();
  const auto conversation = site.conversations->open(
      terms.name, terms.slot, terms.lifetime.value_or(is_conversation ? Lifetime::lasting : Lifetime::brief));
  if (terms.lifetime) conversation->set_lifetime(*terms.lifetime);
  const bool is_pinned = body.boolean("pin");
  if (is_pinned && !may_pin(site, conversation, std::ssize(tokens))) {
    return refuse(
        "invalid_value", "pin",
        "what is pinned would take more than half of the cache; pin less, or start the server with a "
        "larger --ctx-size");
  }
  terms.sharing.is_off = false;
  if (is_pinned) terms.sharing.prefix_class = PrefixClass::conversation;
  const auto text = std::make_shared<ConversationText>(ConversationText{std::move(tokens), terms.sharing});
  site.conversations->take_slot(conversation);
  conversation->set_prefix(text);
  Json answer = Json::object({{"conversation_id", is_conversation ? Json(terms.name.id) : Json()},
                              {"slot", terms.name.key.empty() ? -1 : conversation->slot},
                              {"prompt_tokens", std::ssize(text->tokens)}});
  const bool waits = body.boolean("wait", true);
  const bool is_background = !waits || body.text("class") == "background";
  if (!waits) {
    call.reply->send(json_answer(answer, 202));
  }
  const auto on_warm = [reply = call.reply, conversation, context = site.conversations->context(), is_pinned,
                        waits, answer](const Result<Warmed>& warmed) mutable {
    if (warmed && is_pinned) conversation->pin_prefix(context);
    if (!waits) return;
    if (!warmed) return reply->send(answer_of(api_error(warmed.error())));
    answer.set("cached_tokens", warmed->n_cached);
    answer.set("prefilled_tokens", warmed->n_tokens - warmed->n_cached);
    answer.set("ms", warmed->ms);
    reply->send(json_answer(answer));
  };
  warm(site, conversation, text, is_background ? Priority::background : Priority::interactive,
       waits ? call.reply->ticket() : Cancellation(), on_warm);
  return {};
}

void warm_system_prefix(Site& site) {
  const std::string& given = site.options.conversations.prewarm_body;
  if (given.empty()) return;
  const auto read = [&]() -> ApiResult<std::vector<Token>> {
    PARLANCE_API_TRY(const Json json, parse_body(given));
    PARLANCE_API_TRY(const CheckedBody checked, check_fields(prewarm_fields(), json, {}));
    PARLANCE_API_TRY(const ChatRequest chat, read_chat(site, checked.body));
    for (const Message& message : chat.messages) {
      if (message.role == "system") site.conversations->note_system_text(message.content);
    }
    return beginning_of(site, chat);
  };
  auto tokens = read();
  if (!tokens) return log_warning("--prewarm: {}", tokens.error().message);
  const auto conversation = site.conversations->open(
      {.owner = {}, .key = "conv:" + std::string(kSystemPrefix), .id = std::string(kSystemPrefix)}, -1,
      Lifetime::extended);
  if (!may_pin(site, conversation, std::ssize(*tokens)))
    return log_warning("--prewarm: its {} tokens are more than half of the cache; raise --ctx-size",
                       tokens->size());
  const auto text = std::make_shared<ConversationText>(ConversationText{*std::move(tokens), {}});
  site.conversations->take_slot(conversation);
  conversation->set_prefix(text);
  warm(site, conversation, text, Priority::background, {},
       [&site, conversation](const Result<Warmed>& warmed) {
         if (!warmed) return log_warning("--prewarm: {}", warmed.error().message);
         conversation->pin_prefix(site.conversations->context());
         log_info("event=prewarm prompt={} cached={} ms={:.1f}", warmed->n_tokens, warmed->n_cached,
                  warmed->ms);
       });
}

}  // namespace parlance
