#include "jinja/writer.h"

namespace parlance::jinja {

void Writer::append(std::string_view text) {
  if (make_room(text.size())) text_.append(text);
}

void Writer::append(size_t count, char c) {
  if (make_room(count)) text_.append(count, c);
}

void Writer::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

bool Writer::make_room(size_t bytes) {
  if (failed()) return false;
  if (purpose_ == Purpose::output) {
    budget_.spend_on_bytes(bytes);
    if (bytes <= budget_.max_output_bytes() - text_.size()) return true;
    budget_.exhaust_output();
    return false;
  }
  if (!budget_.reserve(bytes)) return false;
  charged_ += bytes;
  return true;
}

Result<std::string> Writer::finish() {
  if (error_) return tl::unexpected<Error>(std::move(*error_));
  if (budget_.exhausted()) return budget_.error();
  budget_.release(std::exchange(charged_, 0));
  return std::move(text_);
}

Result<Value> Writer::finish_text(bool markup) {
  PARLANCE_TRY(std::string text, finish());
  return make_text(&budget_, std::move(text), markup);
}

}  // namespace parlance::jinja
