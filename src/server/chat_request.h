// A chat as it is asked for: what is put to the model, and how its answer is read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assistant/conversation.h"
#include "chat/prompt.h"
#include "grammar/token_masks.h"
#include "server/fields.h"
#include "server/site.h"
#include "server/text_answer.h"

namespace parlance {

struct ChatRequest {
  std::vector<Message> messages;
  PromptManner manner;
  std::optional<int64_t> n_most_thoughts;                 // tokens; none: as many as the model likes
  std::map<std::string, std::vector<std::string>> tools;  // that may be called, with their texts
  bool is_described = false;                              // the tools are told in words of ours
  bool is_one_call = false;                               // at most
  bool is_spoken = false;                                 // the answer's words are sound, too
  std::shared_ptr<TokenMasks> grammar;                    // that the answer keeps; null: any text
  std::vector<std::string> notes;                         // on what was done otherwise than was asked
};

ApiResult<ChatRequest> read_chat(Site& site, const Body& body);

// Whether the prompt leaves thoughts open, which the answer goes on with.
bool begins_in_thoughts(const ChatRequest& chat, std::string_view prompt);

// When the answer's thoughts are ended; none: when the model likes.
std::optional<ThoughtLimit> thought_limit_of(const Site& site, const ChatRequest& chat,
                                             std::string_view prompt);

// How an answer to the prompt is read.
AnswerReaderOptions reader_for(const Site& site, const ChatRequest& chat, std::string_view prompt);

// How the answer to a chat is spoken that asks for sound (the field "audio").
ApiResult<SpokenTerms> read_spoken(const Site& site, const Body& body);

// The text of the prompt.
ApiResult<std::string> chat_text(const Site& site, const ChatRequest& chat);

// All that an answer to a chat needs but who puts it into words.
ApiResult<TextAnswerTerms> read_chat_terms(Site& site, const Call& call, const Body& body);

}  // namespace parlance
