// What a conversation consists of: messages, calls and their results, in an order that clients may change.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realtime/protocol.h"

namespace parlance {

// A part of a message.
struct ItemPart {
  bool is_sound = false;
  std::string text;  // or, of sound, what is said in it
  // Of sound: not until its text is known. Of an item without words it is known and empty.
  bool has_text = true;
  // As it went over the socket, as long as it is kept; null: not any more.
  std::shared_ptr<const std::string> sound = {};
};

struct Item {
  enum class Kind : uint8_t { message, call, call_output };
  enum class Role : uint8_t { system, user, assistant };
  enum class Status : uint8_t { in_progress, completed, incomplete };

  std::string id;
  Kind kind = Kind::message;
  Role role = Role::user;
  Status status = Status::completed;
  std::vector<ItemPart> parts;  // of a message
  std::string call_id, name;    // of calls
  std::string text;             // arguments, or what the call gave

  bool awaits_text() const;
  std::string all_text() const;  // of a message
};

Json to_json(const Item& item, Dialect dialect, bool has_sound = false);

// An item as a client creates it; sound in it has no text yet.
RealtimeResult<Item> read_item(const Json& json, const std::string& where);

class ItemList {
 public:
  const std::vector<Item>& all() const { return items_; }
  const Item* find(std::string_view id) const;
  Item* find(std::string_view id);
  // The id before that of an item; none of the first.
  std::optional<std::string> before(std::string_view id) const;
  std::optional<std::string> last() const;

  // Behind an item, at the end where none is named, at the beginning behind "root". Errors: the id is taken;
  // there is no such item to stand behind; there are too many.
  RealtimeResult<void> insert(Item item, const std::optional<std::string>& behind = {});
  bool remove(std::string_view id);

  // Sound is kept of the newest items, as far as this goes.
  void forget_sound_beyond(size_t n_bytes);

  // Changes with everything that a prompt is made of.
  uint64_t version() const { return version_; }
  void touch() { ++version_; }

  static constexpr size_t kMost = 4096;

 private:
  std::vector<Item>::const_iterator at(std::string_view id) const;

  std::vector<Item> items_;
  uint64_t version_ = 0;
};

// Messages as POST /v1/chat/completions takes them. Items of `items` from `first` on; what has no words is
// left out.
Json chat_messages_of(const std::string& instructions, std::span<const Item> items);

// Where items can be cut off: indices of those that may come first, the beginning among them. A result stays
// with its call.
std::vector<size_t> possible_beginnings(std::span<const Item> items);

}  // namespace parlance
