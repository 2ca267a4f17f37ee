#include "wyoming/frames.h"

#include <algorithm>

namespace parlance {

namespace {

tl::unexpected<Error> no_event(std::string why) {
  return fail(ErrorCode::invalid_argument, "this is no event of the Wyoming protocol: {}", why);
}

// How deep objects and arrays are in each other at most, whether or not the text is JSON.
int depth_of(std::string_view text) {
  int depth = 0, most = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted) {
      if (c == '\\') ++i;
      is_quoted = c != '"';
    } else if (c == '"') {
      is_quoted = true;
    } else if (c == '{' || c == '[') {
      most = std::max(most, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return most;
}

Result<Json> object_of(std::string_view text, std::string_view what) {
  if (depth_of(text) > WyomingReader::kMostDepth) {
    return no_event(fmt::format("{} is nested deeper than {}", what, WyomingReader::kMostDepth));
  }
  auto json = Json::parse(text);
  if (!json) return no_event(fmt::format("{} is no JSON", what));
  if (!json->is_object()) return no_event(fmt::format("{} is no JSON object", what));
  return json;
}

Result<size_t> length_of(const Json& head, std::string_view name, size_t n_most) {
  const auto value = head.member(name);
  if (!value || value->is_null()) return size_t{0};
  const auto n = value->integer();
  if (!n || *n < 0 || static_cast<uint64_t>(*n) > n_most) {
    return no_event(fmt::format("{} is no number from 0 to {}", name, n_most));
  }
  return static_cast<size_t>(*n);
}

}  // namespace

std::string WyomingEvent::text(std::string_view member) const {
  const auto value = data.member(member);
  return value ? value->text().value_or("") : "";
}

std::string wyoming_bytes(const WyomingEvent& event) {
  const auto members = event.data.members();
  const std::string data = members && !members->empty() ? event.data.line() : "";
  Json head = Json::object({{"type", event.type}});
  if (!data.empty()) head.set("data_length", data.size());
  if (!event.payload.empty()) head.set("payload_length", event.payload.size());
  return head.line() + "\n" + data + event.payload;
}

Result<std::optional<WyomingEvent>> WyomingReader::next() {
  if (!head_) {
    const size_t end = buffer_.find('\n', n_searched_);
    n_searched_ = buffer_.size();
    if (std::min(end, buffer_.size()) > kMostHeadBytes) {
      return no_event(fmt::format("its line has more than {} bytes", kMostHeadBytes));
    }
    if (end == std::string::npos) return std::nullopt;
    PARLANCE_CHECK(read_head(std::string_view(buffer_).substr(0, end)));
    buffer_.erase(0, end + 1);
    n_searched_ = 0;
  }
  if (buffer_.size() < head_->n_data + head_->n_payload) return std::nullopt;
  PARLANCE_TRY(WyomingEvent event, read_rest());
  return event;
}

Result<void> WyomingReader::read_head(std::string_view line) {
  PARLANCE_TRY(const Json json, object_of(line, "the line"));
  Head head;
  const auto type = json.member("type");
  if (!type || !type->text()) return no_event("the line has no type");
  head.event.type = *type->text();
  if (auto data = json.member("data"); data && !data->is_null()) {
    if (!data->is_object()) return no_event("data is no object");
    head.event.data = *std::move(data);
  }
  PARLANCE_TRY(head.n_data, length_of(json, "data_length", kMostDataBytes));
  PARLANCE_TRY(head.n_payload, length_of(json, "payload_length", kMostPayloadBytes));
  head_ = std::move(head);
  return {};
}

// What is behind the line wins over what is in it.
Result<WyomingEvent> WyomingReader::read_rest() {
  if (head_->n_data > 0) {
    PARLANCE_TRY(const Json data, object_of(std::string_view(buffer_).substr(0, head_->n_data), "the data"));
    const auto members = data.members();
    for (const auto& [name, value] : *members) head_->event.data.set(name, value);
  }
  WyomingEvent event = std::move(head_->event);
  event.payload = buffer_.substr(head_->n_data, head_->n_payload);
  buffer_.erase(0, head_->n_data + head_->n_payload);
  head_.reset();
  return event;
}

}  // namespace parlance
