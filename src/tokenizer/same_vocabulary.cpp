#include "tokenizer/same_vocabulary.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace parlance {

namespace {

constexpr int32_t kMostMoreTokens = 128;  // padding, which exporters add as they like
constexpr Token kFirstToken = 5;          // those before are often named anew
constexpr size_t kMostShown = 40;         // bytes of a token in a message

std::string words_of(std::optional<Token> token) {
  return token ? std::to_string(*token) : "none";
}

std::string words_of(bool value) {
  return value ? "true" : "false";
}

std::string words_of(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kMostShown)) shown += c >= ' ' && c <= '~' ? c : '?';
  return "'" + shown + (text.size() > kMostShown ? "...'" : "'");
}

}  // namespace

Result<void> check_same_vocabulary(const Tokenizer& drafter, std::string_view drafter_name,
                                   const Tokenizer& target, std::string_view target_name) {
  const auto differ = [&](const std::string& field, const std::string& own, const std::string& wanted) {
    return fail(ErrorCode::unsupported,
                "{}: {} is {}, {} has {}; use a drafter with the vocabulary of the model it drafts for",
                drafter_name, field, own, target_name, wanted);
  };
  const auto require_same = [&](const char* field, const auto& own, const auto& wanted) -> Result<void> {
    if (own == wanted) return {};
    return differ(std::string("tokenizer.ggml.") + field, words_of(own), words_of(wanted));
  };
  PARLANCE_CHECK(require_same("model", drafter.model(), target.model()));
  PARLANCE_CHECK(require_same("add_bos_token", drafter.adds_bos(), target.adds_bos()));
  PARLANCE_CHECK(require_same("add_eos_token", drafter.adds_eos(), target.adds_eos()));
  PARLANCE_CHECK(require_same("bos_token_id", drafter.bos(), target.bos()));
  PARLANCE_CHECK(require_same("eos_token_id", drafter.eos(), target.eos()));
  const int32_t n_own = drafter.n_vocab(), n_wanted = target.n_vocab();
  if (std::abs(int64_t{n_own} - n_wanted) > kMostMoreTokens) {
    return differ("the size of tokenizer.ggml.tokens", std::to_string(n_own), std::to_string(n_wanted));
  }
  for (Token token = kFirstToken; token < std::min(n_own, n_wanted); ++token) {
    if (drafter.text(token) != target.text(token)) {
      return differ("tokenizer.ggml.tokens[" + std::to_string(token) + "]", words_of(drafter.text(token)),
                    words_of(target.text(token)));
    }
  }
  return {};
}

}  // namespace parlance
