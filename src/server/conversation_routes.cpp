// GET /v1/parlance/conversations and what can be done with one of them.
#include <algorithm>

#include "base/parse_number.h"
#include "bundle/sha256.h"
#include "engine/context.h"
#include "server/site.h"
#include "server/slot_file.h"

namespace parlance {

namespace {

using ConversationClock = Conversations::Clock;

ApiError no_conversation() {
  return {.status = 404,
          .code = "conversation_not_found",
          .message = "there is no such conversation; GET /v1/parlance/conversations lists what there is",
          .param = "id"};
}

Json conversation_json(const Site& site, const OpenConversation& conversation) {
  const auto text = conversation.text();
  const int64_t n_tokens = text ? std::ssize(text->tokens) : 0;
  const int64_t n_known = text ? site.conversations->n_known(*text) : 0;
  const auto bytes_per_token =
      static_cast<int64_t>(site.conversations->context()->layout().bytes_per_token());
  const auto idle = ConversationClock::now() - conversation.last_used();
  const bool is_on_disk =
      n_known == 0 && site.conversations->find_file(conversation.name.owner, conversation.name.id);
  return Json::object(
      {{"id", conversation.name.id},
       {"key", conversation.name.key},
       {"slot", conversation.slot},
       {"n_tokens", n_tokens},
       {"bytes", n_known * bytes_per_token},
       {"tier", is_on_disk ? "disk" : "device"},
       {"last_used_ms_ago",
        std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::milliseconds>(idle).count())},
       {"ttl", name_of(conversation.lifetime())},
       {"pinned", conversation.is_pinned()}});
}

// What was put away and is not open. The file has its size, and no word of how many tokens there are.
Json kept_json(const std::string& id, const KeptFile& file) {
  return Json::object(
      {{"id", id},
       {"key", "conv:" + id},
       {"slot", -1},
       {"n_tokens", 0},
       {"bytes", static_cast<int64_t>(file.n_bytes)},
       {"tier", "disk"},
       {"last_used_ms_ago", file.age.count()},
       {"ttl", name_of(lifetime_of_file(file.path.filename().string()).value_or(Lifetime::lasting))},
       {"pinned", false}});
}

Conversations::Open find_open(const Site& site, const Call& call) {
  return site.conversations->registry().find(owner_of(site, call), "conv:" + call.path_values.front());
}

// The one of the path, opened where it lies in a file.
ApiResult<Conversations::Open> find_or_open(Site& site, const Call& call) {
  if (auto open = find_open(site, call)) return open;
  const std::string& id = call.path_values.front();
  const std::string owner = owner_of(site, call);
  const auto file = site.conversations->find_file(owner, id);
  if (!file) return tl::unexpected(no_conversation());
  const auto lifetime = lifetime_of_file(file->path.filename().string()).value_or(Lifetime::lasting);
  auto opened = site.conversations->open({.owner = owner, .key = "conv:" + id, .id = id}, -1, lifetime);
  (void)opened->takes_first_look();  // it is being read now
  return opened;
}

// What tells conversations apart for people, and says nothing of them.
std::string short_hash(std::string_view key) {
  return sha256(std::as_bytes(std::span(key))).substr(0, 8);
}

// Of what went wrong with a file.
ApiError file_error(const Error& error) {
  const bool is_refusal = error.code == ErrorCode::corrupt_file ||
                          error.code == ErrorCode::invalid_argument || error.code == ErrorCode::unsupported;
  if (is_refusal) return {.status = 400, .code = "snapshot_refused", .message = error.message};
  if (error.code == ErrorCode::not_found)
    return {.status = 404, .code = "not_found", .message = error.message};
  return api_error(error);
}

}  // namespace

ApiResult<void> list_conversations(Site& site, Call& call) {
  const std::string owner = owner_of(site, call);
  Json list = Json::array();
  for (const auto& conversation : site.conversations->registry().all()) {
    if (conversation->name.owner == owner && !conversation->name.id.empty())
      list.push(conversation_json(site, *conversation));
  }
  call.reply->send(json_answer(list));
  return {};
}

ApiResult<void> show_conversation(Site& site, Call& call) {
  if (const auto open = find_open(site, call)) {
    call.reply->send(json_answer(conversation_json(site, *open)));
    return {};
  }
  const auto file = site.conversations->find_file(owner_of(site, call), call.path_values.front());
  if (!file) return tl::unexpected(no_conversation());
  call.reply->send(json_answer(kept_json(call.path_values.front(), *file)));
  return {};
}

ApiResult<void> save_conversation(Site& site, Call& call) {
  const auto open = find_open(site, call);
  if (!open) return tl::unexpected(no_conversation());
  const auto began = ConversationClock::now();
  site.conversations->save(open, [reply = call.reply, open, began](const Result<StoredText>& saved) {
    if (!saved) return reply->send(answer_of(file_error(saved.error())));
    const double ms = std::chrono::duration<double, std::milli>(ConversationClock::now() - began).count();
    reply->send(json_answer(Json::object({{"id", open->name.id},
                                          {"n_saved", saved->n_tokens},
                                          {"n_written", static_cast<int64_t>(saved->n_bytes)},
                                          {"timings", Json::object({{"save_ms", ms}})}})));
  });
  return {};
}

ApiResult<void> restore_conversation(Site& site, Call& call) {
  PARLANCE_API_TRY(const auto open, find_or_open(site, call));
  const auto began = ConversationClock::now();
  const std::string stem = conversation_stem(open->name.owner, open->name.id);
  site.conversations->load(
      open, stem, [reply = call.reply, open, began](const Result<RestoredText>& restored) {
        if (!restored) return reply->send(answer_of(file_error(restored.error())));
        const double ms = std::chrono::duration<double, std::milli>(ConversationClock::now() - began).count();
        reply->send(json_answer(Json::object({{"id", open->name.id},
                                              {"n_restored", std::ssize(restored->tokens)},
                                              {"n_read", static_cast<int64_t>(restored->n_bytes)},
                                              {"timings", Json::object({{"restore_ms", ms}})}})));
      });
  return {};
}

ApiResult<void> close_conversation(Site& site, Call& call) {
  const auto open = find_open(site, call);
  const std::string& id = call.path_values.front();
  const bool is_erased = call.request.parameter("erase").value_or("") == "true";
  if (!open && !site.conversations->find_file(owner_of(site, call), id))
    return tl::unexpected(no_conversation());
  int64_t n_tokens = 0;
  if (open) open->close();
  if (is_erased) {
    n_tokens =
        open ? site.conversations->erase(open)
             : site.conversations->erase(site.conversations->open(
                   {.owner = owner_of(site, call), .key = "conv:" + id, .id = id}, -1, Lifetime::brief));
  } else if (open) {
    const auto text = open->text();
    n_tokens = text ? std::ssize(text->tokens) : 0;
    site.conversations->close(open);
  }
  call.reply->send(json_answer(
      Json::object({{"id", id}, {"deleted", true}, {"erased", is_erased}, {"n_tokens", n_tokens}})));
  return {};
}

ApiResult<void> list_slots(Site& site, Call& call) {
  Json list = Json::array();
  const ConversationRegistry& registry = site.conversations->registry();
  bool has_free = false;
  for (int slot = 0; slot < registry.n_slots(); ++slot) {
    const auto open = registry.at_slot(slot);
    const auto progress = open ? open->progress() : OpenConversation::Progress();
    const auto text = open ? open->text() : nullptr;
    has_free |= !progress.is_processing;
    const bool is_named = open && !open->name.key.empty();
    list.push(Json::object(
        {{"id", slot},
         {"id_task", open ? static_cast<int64_t>(progress.n_answers) : -1},
         {"n_ctx", site.conversations->context()->options().n_ctx},
         {"is_processing", progress.is_processing},
         {"speculative", most_drafted(site.conversations->context()->options()) > 0},
         {"conversation", is_named ? Json(short_hash(open->name.key)) : Json()},
         {"n_past", text ? std::ssize(text->tokens) + (progress.is_processing ? progress.n_decoded : 0) : 0},
         {"n_cached", progress.n_cached},
         {"class", is_named ? Json(name_of(open->lifetime())) : Json()},
         {"next_token",
          Json::object({{"n_decoded", progress.n_decoded}, {"n_remain", progress.n_remaining}})}}));
  }
  if (!has_free && call.request.parameter("fail_on_no_slot").value_or("0") != "0")
    return tl::unexpected(try_again(503, "server_overloaded", "every slot is at work", 1));
  call.reply->send(json_answer(list));
  return {};
}

ApiResult<void> change_slot(Site& site, Call& call) {
  const auto slot = parse_number<int>(call.path_values.front());
  if (!slot || *slot < 0 || *slot >= site.conversations->registry().n_slots()) {
    return tl::unexpected(ApiError{.status = 404,
                                   .code = "not_found",
                                   .message = fmt::format("there is no such slot; there are 0 to {}",
                                                          site.conversations->registry().n_slots() - 1),
                                   .param = "id"});
  }
  const std::string action = call.request.parameter("action").value_or("");
  if (action != "save" && action != "restore" && action != "erase") {
    return refuse("invalid_value", "action", "action must be save, restore or erase, got {}",
                  Json(action).line());
  }
  auto open = site.conversations->registry().at_slot(*slot);
  if (action == "erase") {
    const int64_t n_erased = open ? open->erase() : 0;
    call.reply->send(json_answer(Json::object({{"id_slot", *slot}, {"n_erased", n_erased}})));
    return {};
  }
  PARLANCE_API_TRY(const std::string filename, read_slot_file(call.request.body));
  const auto began = ConversationClock::now();
  const auto timing = [began](const char* name) {
    return Json::object(
        {{name, std::chrono::duration<double, std::milli>(ConversationClock::now() - began).count()}});
  };
  if (action == "save") {
    if (!open) {
      return tl::unexpected(
          ApiError{.status = 404,
                   .code = "not_found",
                   .message = "nothing was computed in this slot; there is nothing to save"});
    }
    site.conversations->save_as(
        open, filename, [reply = call.reply, slot, filename, timing](const Result<StoredText>& saved) {
          if (!saved) return reply->send(answer_of(file_error(saved.error())));
          reply->send(json_answer(Json::object({{"id_slot", *slot},
                                                {"filename", filename},
                                                {"n_saved", saved->n_tokens},
                                                {"n_written", static_cast<int64_t>(saved->n_bytes)},
                                                {"timings", timing("save_ms")}})));
        });
    return {};
  }
  if (!open) open = site.conversations->open_at(*slot);
  site.conversations->load(
      open, filename, [reply = call.reply, slot, filename, timing](const Result<RestoredText>& restored) {
        if (!restored) return reply->send(answer_of(file_error(restored.error())));
        reply->send(json_answer(Json::object({{"id_slot", *slot},
                                              {"filename", filename},
                                              {"n_restored", std::ssize(restored->tokens)},
                                              {"n_read", static_cast<int64_t>(restored->n_bytes)},
                                              {"timings", timing("restore_ms")}})));
      });
  return {};
}

}  // namespace parlance
