// The texts of a vocabulary as a tree of bytes, so that what texts have in common is looked at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace parlance {

class TokenTrie {
 public:
  // Tokens with a meaning of their own (control, user-defined, unknown, unused) are no text.
  explicit TokenTrie(const Tokenizer& tokenizer);

  // In the order of a walk that visits a node before its children and these by byte: the nodes below node i
  // are i + 1 to end - 1. The root has no node; those of depth 1 are below it.
  struct Node {
    uint32_t end;
    uint16_t depth;
    uint8_t byte;
  };
  std::span<const Node> nodes() const { return nodes_; }
  // Whose bytes are the way to the node.
  std::span<const Token> tokens_at(uint32_t node) const {
    return std::span(tokens_).subspan(token_begins_[node], token_begins_[node + 1] - token_begins_[node]);
  }

  const Tokenizer& tokenizer() const { return tokenizer_; }
  bool is_text(Token token) const;
  uint32_t longest() const { return longest_; }  // bytes of a token
  size_t bytes() const;

 private:
  const Tokenizer& tokenizer_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> token_begins_;
  std::vector<Token> tokens_;
  uint32_t longest_ = 0;
};

}  // namespace parlance
