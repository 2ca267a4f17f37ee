#include "text/unicode.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

std::string StreamingDecoder::push(std::string_view bytes) {
  pending_ += bytes;
  std::string text;
  size_t at = 0;
  while (at < pending_.size()) {
    const Utf8Sequence sequence = first_utf8_sequence(std::string_view(pending_).substr(at));
    if (sequence.ending == Utf8Ending::incomplete) break;
    if (sequence.ending == Utf8Ending::complete) {
      text.append(pending_, at, sequence.n_bytes);
    } else {
      text += kReplacement;
    }
    at += sequence.n_bytes;
  }
  pending_.erase(0, at);
  return text;
}

std::string StreamingDecoder::finish() {
  std::string text(pending_.empty() ? std::string_view() : kReplacement);
  pending_.clear();
  return text;
}

}  // namespace parlance
