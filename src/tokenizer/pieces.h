// The bytes that each token stands for in text.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace parlance {

class Pieces {
 public:
  // The vocabulary outlives this.
  explicit Pieces(const Vocabulary& vocabulary);

  // Control, unknown and user-defined tokens are their texts. Of normal tokens the byte alphabet, or the mark
  // for spaces, is undone; byte tokens are one byte; unused and undefined tokens are empty. A character that
  // is not in the byte alphabet shows as [UNK_BYTE_0x..] with its UTF-8 bytes.
  std::string_view operator[](Token token) const {
    const auto i = static_cast<size_t>(token);
    return std::string_view(bytes_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }

 private:
  std::string bytes_;         // of all tokens, back to back
  std::vector<size_t> ends_;  // token i is bytes ends_[i] to ends_[i + 1]
};

}  // namespace parlance
