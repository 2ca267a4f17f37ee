// Beginnings of texts that are computed before anybody asks for an answer to them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/answer_terms.h"
#include "server/chat_request.h"
#include "server/site.h"

namespace parlance {

// What the messages of a chat are put to the model as, up to the last token that whatever may follow has in
// common. Errors: of the template; a beginning that does not fit the context.
ApiResult<std::vector<Token>> beginning_of(const Site& site, const ChatRequest& chat);

struct Warmed {
  int64_t n_tokens = 0;
  int64_t n_cached = 0;  // that were known
  double ms = 0;
};

// Has a beginning computed in a conversation, beside whatever else is computed; nothing is said. `on_warm` is
// called once, from a thread of the server's.
void warm(Site& site, const Conversations::Open& conversation, Conversations::Text text, Priority priority,
          const Cancellation& cancellation, std::function<void(const Result<Warmed>&)> on_warm);

// Once more what was to be kept warm, where nobody waits for it.
void warm_again(Site& site, const Conversations::Open& conversation);

// The chat of ConversationRules::prewarm_body, as conversation "__system_prefix__", for good. What is wrong
// with it is logged.
void warm_system_prefix(Site& site);

}  // namespace parlance
