#include "realtime/items.h"

#include <algorithm>
#include <set>

#include "base/ascii.h"
#include "base/random_id.h"
#include "text/base64.h"

namespace parlance {

namespace {

constexpr size_t kMostItemBytes = size_t{1} << 20;  // of text
constexpr size_t kMostItemParts = 64;

std::string_view word_of(Item::Role role) {
  switch (role) {
    case Item::Role::system:
      return "system";
    case Item::Role::user:
      return "user";
    case Item::Role::assistant:
      return "assistant";
  }
  return "";
}

std::string_view word_of(Item::Status status) {
  switch (status) {
    case Item::Status::in_progress:
      return "in_progress";
    case Item::Status::completed:
      return "completed";
    case Item::Status::incomplete:
      return "incomplete";
  }
  return "";
}

Json shown_part(const Item& item, const ItemPart& part, Dialect dialect, bool has_sound) {
  const bool is_answer = item.role == Item::Role::assistant;
  if (!part.is_sound) {
    const char* type = !is_answer ? "input_text" : dialect == Dialect::ga ? "output_text" : "text";
    return Json::object({{"type", type}, {"text", part.text}});
  }
  const char* type = !is_answer ? "input_audio" : dialect == Dialect::ga ? "output_audio" : "audio";
  Json shown = Json::object({{"type", type}, {"transcript", part.has_text ? Json(part.text) : Json()}});
  if (has_sound && part.sound) shown.set("audio", to_base64(*part.sound));
  return shown;
}

RealtimeResult<std::string> text_member(const Json& json, const char* name, const std::string& where) {
  const auto member = json.member(name);
  auto text = member ? member->text() : std::nullopt;
  if (!text) return reject("invalid_value", where + "." + name, "{}.{} must be a string", where, name);
  if (text->size() > kMostItemBytes)
    return reject("invalid_value", where + "." + name, "{}.{} may have {} bytes", where, name,
                  kMostItemBytes);
  return *std::move(text);
}

RealtimeResult<ItemPart> read_part(const Json& json, Item::Role role, const std::string& where) {
  const auto type = json.member("type") ? json.member("type")->text() : std::nullopt;
  const std::string word = type.value_or("");
  const bool is_text = word == "input_text" || word == "text" || word == "output_text";
  if (is_text && (word != "output_text" || role == Item::Role::assistant) &&
      (word != "input_text" || role != Item::Role::assistant)) {
    PARLANCE_EVENT_TRY(std::string text, text_member(json, "text", where));
    return ItemPart{.text = std::move(text)};
  }
  if (word == "input_audio" && role == Item::Role::user) {
    const auto letters = json.member("audio");
    auto sound = letters && letters->text() ? from_base64(*letters->text()) : std::nullopt;
    if (!sound) return reject("invalid_value", where + ".audio", "{}.audio must be base64", where);
    ItemPart part;
    part.is_sound = true;
    part.has_text = false;
    part.sound = std::make_shared<const std::string>(*std::move(sound));
    return part;
  }
  if ((word == "output_audio" || word == "audio") && role == Item::Role::assistant) {
    const auto transcript = json.member("transcript");
    return ItemPart{.is_sound = true, .text = transcript ? transcript->text().value_or("") : std::string()};
  }
  return reject("invalid_value", where + ".type", "{}.type must be {}, got {}", where,
                role == Item::Role::system ? "input_text"
                : role == Item::Role::user ? "input_text or input_audio"
                                           : "output_text",
                Json(word).line());
}

RealtimeResult<void> read_message_item(const Json& json, const std::string& where, Item& item) {
  const auto role = json.member("role") ? json.member("role")->text() : std::nullopt;
  if (role == "system" || role == "developer") {
    item.role = Item::Role::system;
  } else if (role == "user") {
    item.role = Item::Role::user;
  } else if (role == "assistant") {
    item.role = Item::Role::assistant;
  } else {
    return reject("invalid_value", where + ".role", "{}.role must be system, user or assistant", where);
  }
  const auto content = json.member("content");
  const auto parts = content ? content->elements() : std::nullopt;
  if (!parts || parts->empty() || parts->size() > kMostItemParts) {
    return reject("invalid_value", where + ".content", "{}.content must be an array of 1 to {} parts", where,
                  kMostItemParts);
  }
  for (size_t i = 0; i < parts->size(); ++i) {
    PARLANCE_EVENT_TRY(ItemPart part,
                       read_part((*parts)[i], item.role, fmt::format("{}.content[{}]", where, i)));
    item.parts.push_back(std::move(part));
  }
  return {};
}

bool is_item_id(std::string_view id) {
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), [](char c) {
    return ascii::is_letter(c) || ascii::is_digit(c) || c == '_' || c == '-';
  });
}

}  // namespace

bool Item::awaits_text() const {
  return std::any_of(parts.begin(), parts.end(), [](const ItemPart& part) { return !part.has_text; });
}

std::string Item::all_text() const {
  std::string all;
  for (const ItemPart& part : parts) {
    if (!all.empty() && !part.text.empty()) all += '\n';
    all += part.text;
  }
  return all;
}

Json to_json(const Item& item, Dialect dialect, bool has_sound) {
  Json shown = Json::object({{"id", item.id}, {"object", "realtime.item"}});
  switch (item.kind) {
    case Item::Kind::message: {
      Json content = Json::array();
      for (const ItemPart& part : item.parts) content.push(shown_part(item, part, dialect, has_sound));
      shown.set("type", "message").set("status", word_of(item.status));
      return shown.set("role", word_of(item.role)).set("content", content);
    }
    case Item::Kind::call:
      shown.set("type", "function_call").set("status", word_of(item.status));
      return shown.set("call_id", item.call_id).set("name", item.name).set("arguments", item.text);
    case Item::Kind::call_output:
      shown.set("type", "function_call_output").set("status", word_of(item.status));
      return shown.set("call_id", item.call_id).set("output", item.text);
  }
  return shown;
}

RealtimeResult<Item> read_item(const Json& json, const std::string& where) {
  if (!json.is_object()) return reject("invalid_value", where, "{} must be an object", where);
  Item item;
  if (const auto id = json.member("id"); id && !id->is_null()) {
    item.id = id->text().value_or("");
    if (!is_item_id(item.id)) {
      return reject("invalid_value", where + ".id", "{}.id must have 1 to 64 letters, digits, _ or -, got {}",
                    where, id->line().substr(0, 80));
    }
  } else {
    item.id = random_id("item_");
  }
  const auto type = json.member("type") ? json.member("type")->text() : std::nullopt;
  if (type == "message") {
    PARLANCE_EVENT_CHECK(read_message_item(json, where, item));
  } else if (type == "function_call") {
    item.kind = Item::Kind::call;
    PARLANCE_EVENT_TRY(item.call_id, text_member(json, "call_id", where));
    PARLANCE_EVENT_TRY(item.name, text_member(json, "name", where));
    PARLANCE_EVENT_TRY(item.text, text_member(json, "arguments", where));
  } else if (type == "function_call_output") {
    item.kind = Item::Kind::call_output;
    PARLANCE_EVENT_TRY(item.call_id, text_member(json, "call_id", where));
    PARLANCE_EVENT_TRY(item.text, text_member(json, "output", where));
  } else {
    return reject("invalid_value", where + ".type",
                  "{}.type must be message, function_call or function_call_output, got {}", where,
                  Json(type.value_or("")).line());
  }
  return item;
}

std::vector<Item>::const_iterator ItemList::at(std::string_view id) const {
  return std::find_if(items_.begin(), items_.end(), [&](const Item& item) { return item.id == id; });
}

const Item* ItemList::find(std::string_view id) const {
  const auto found = at(id);
  return found == items_.end() ? nullptr : &*found;
}

Item* ItemList::find(std::string_view id) {
  return const_cast<Item*>(std::as_const(*this).find(id));
}

std::optional<std::string> ItemList::before(std::string_view id) const {
  const auto found = at(id);
  if (found == items_.begin() || found == items_.end()) return std::nullopt;
  return std::prev(found)->id;
}

std::optional<std::string> ItemList::last() const {
  return items_.empty() ? std::nullopt : std::optional(items_.back().id);
}

RealtimeResult<void> ItemList::insert(Item item, const std::optional<std::string>& behind) {
  if (find(item.id))
    return reject("invalid_value", "item.id", "there is an item {} already", Json(item.id).line());
  if (items_.size() >= kMost)
    return reject("invalid_value", "item", "a conversation may have {} items; delete some", kMost);
  auto place = items_.cend();
  if (behind == "root") {
    place = items_.cbegin();
  } else if (behind) {
    place = at(*behind);
    if (place == items_.cend()) {
      return reject("item_not_found", "previous_item_id", "there is no item {} to stand behind",
                    Json(*behind).line());
    }
    ++place;
  }
  items_.insert(place, std::move(item));
  touch();
  return {};
}

bool ItemList::remove(std::string_view id) {
  const auto found = at(id);
  if (found == items_.end()) return false;
  items_.erase(found);
  touch();
  return true;
}

void ItemList::forget_sound_beyond(size_t n_bytes) {
  size_t n_kept = 0;
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
    for (ItemPart& part : item->parts) {
      if (!part.sound) continue;
      n_kept += part.sound->size();
      if (n_kept > n_bytes && part.has_text) part.sound.reset();
    }
  }
}

Json chat_messages_of(const std::string& instructions, std::span<const Item> items) {
  std::vector<Json> messages;
  if (!instructions.empty())
    messages.push_back(Json::object({{"role", "system"}, {"content", instructions}}));
  std::set<std::string_view> called;  // a result without its call would be nobody's
  for (const Item& item : items) {
    if (item.kind == Item::Kind::message) {
      const std::string text = item.all_text();
      if (text.empty()) continue;
      messages.push_back(Json::object({{"role", word_of(item.role)}, {"content", text}}));
    } else if (item.kind == Item::Kind::call) {
      called.insert(item.call_id);
      const bool is_behind_answer =
          !messages.empty() && messages.back().member("role")->text() == "assistant";
      if (!is_behind_answer) messages.push_back(Json::object({{"role", "assistant"}, {"content", ""}}));
      Json calls = messages.back().member("tool_calls").value_or(Json::array());
      calls.push(Json::object({{"id", item.call_id},
                               {"type", "function"},
                               {"function", Json::object({{"name", item.name}, {"arguments", item.text}})}}));
      messages.back().set("tool_calls", calls);
    } else if (called.contains(item.call_id)) {
      messages.push_back(
          Json::object({{"role", "tool"}, {"tool_call_id", item.call_id}, {"content", item.text}}));
    }
  }
  Json list = Json::array();
  for (const Json& message : messages) list.push(message);
  return list;
}

std::vector<size_t> possible_beginnings(std::span<const Item> items) {
  std::vector<size_t> beginnings = {0};
  for (size_t i = 1; i < items.size(); ++i) {
    // Calls stay with the words before them, results with their calls.
    if (items[i].kind == Item::Kind::message && items[i].role != Item::Role::assistant)
      beginnings.push_back(i);
  }
  return beginnings;
}

}  // namespace parlance
