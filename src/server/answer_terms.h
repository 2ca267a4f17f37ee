// What chats and completions have in common, read from a body that keeps their table.
#pragma once

#include "server/fields.h"
#include "server/site.h"
#include "server/text_answer.h"

namespace parlance {

// The body of a call against a table.
ApiResult<CheckedBody> read_body(const Site& site, const Call& call, std::span<const Field> fields);

// Which conversation a request belongs to, its slot, and with whom its text shares what was computed.
struct ConversationTerms {
  OpenConversation::Name name;
  int slot = -1;  // of a key that is no conversation's; -1: none, or the registry's
  std::optional<Lifetime> lifetime;
  Sharing sharing;
};
ApiResult<ConversationTerms> read_conversation(const Site& site, const Call& call, const Body& body);

// Everything but prompts and model. Errors name the field.
ApiResult<TextAnswerTerms> read_terms(const Site& site, const Call& call, const Body& body);

// Cuts the answer to what the context has room for behind the longest prompt. An error where there is none.
ApiResult<void> fit_to_context(const Site& site, const char* param, TextAnswerTerms& terms);

// "interactive" or "background": clients may make themselves less urgent, never more.
ApiResult<std::string> read_class(const Call& call, const Body& body);
// How long a request may take.
ApiResult<std::chrono::milliseconds> read_deadline(const Site& site, const Call& call, const Body& body);

// A whole number of at most 64 bits that nobody can foresee, and that JSON's readers can hold.
int64_t random_seed();

}  // namespace parlance
