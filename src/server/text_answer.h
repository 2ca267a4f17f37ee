// An answer of the language model on its way to a client: sequences of a context whose pieces become chunks
// of a stream, or one JSON object in the end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/answer_reader.h"
#include "server/answer_writer.h"
#include "server/site.h"
#include "server/spoken_answer.h"

namespace parlance {

struct TextAnswerTerms {
  std::unique_ptr<AnswerWriter> writer;
  bool is_streamed = false, wants_usage = false;
  std::string model;
  std::string class_name = "interactive";
  OpenConversation::Name conversation;  // that it belongs to
  int slot = -1;                        // of a key that is no conversation's
  std::optional<Lifetime> lifetime;     // as it was asked for
  std::vector<std::string> ignored;
  std::vector<std::string> input_transcripts;  // of recordings in the request
  std::string note;                            // x-parlance-note; empty: none

  std::optional<AnswerReaderOptions> reader;  // of a chat; none: everything is words
  bool is_one_call = false;                   // at most
  std::optional<SpokenTerms> spoken;          // how its words are spoken, too; of a single answer

  std::vector<std::vector<Token>> prompts;
  std::vector<std::string> echoes;  // of each prompt, what stands before its answers; empty: nothing does
  int n = 1;                        // answers to each
  GenerateOptions generate;         // the seed is that of the first answer; the others count on
};

// Errors: too many wait already; prompts that cannot be computed. What comes later is told in the answer.
ApiResult<void> start_text_answer(Site& site, Call& call, TextAnswerTerms terms);

}  // namespace parlance
