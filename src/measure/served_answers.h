// Answers of a server on this machine as its clients have them, many at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "measure/spread.h"

namespace parlance {

struct ServedAnswersTest {
  int n_clients = 1;        // each on a connection of its own, which asks as soon as it was answered
  int n_each = 2;           // answers of each client
  int64_t n_prompt = 128;   // tokens, of every prompt others
  int64_t n_answer = 64;    // tokens, whatever the model would end with
  uint32_t first_seed = 0;  // of the prompts, which no two tests should share
};

struct ServedAnswers {
  double seconds = 0;         // of all
  int64_t n_tokens = 0;       // said
  Spread first_ms, gap_ms;    // from the request to the first words, and between words
  int n_failed = 0;           // answers that did not come, or were cut
  std::string first_failure;  // why
};

// Errors: cancelled.
Result<ServedAnswers> run_served_answers(uint16_t port, const ServedAnswersTest& test, int32_t n_vocab,
                                         const Cancellation& cancellation = {});

// The body of the server's answer to one request, a body of JSON behind POST. Errors: no connection; a status
// that is not 200, with the body.
Result<std::string> post_to_server(uint16_t port, const std::string& path, const std::string& body);

}  // namespace parlance
