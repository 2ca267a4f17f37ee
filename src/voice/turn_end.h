// How long a silence must be to end a turn, by what was said before it: who has asked a whole question is
// answered soon, who stops in the middle of one is given time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace parlance {

struct TurnEndSigns {
  // That the turn ends with these words, by a language model (assistant/end_of_turn.h); none: nobody knows.
  std::optional<double> probability = std::nullopt;
  bool has_mark = false;   // the recogniser put a mark behind the last word that ends sentences
  bool is_stable = true;   // before the pause the words were understood as they are now
  double final_level = 1;  // of the voice: of its last 200 ms, beside the whole turn's
  bool is_reply = false;   // to a question: the assistant's last sentence was one
};

struct TurnEndOptions {
  double least_ms = 120, most_ms = 900;  // half as much again for replies to questions
};

// Grows with the probability that more will come; the voice's fall and whether the words are
// stable change the odds.
double end_silence_ms(const TurnEndSigns& signs, const TurnEndOptions& options = {});

enum class Eagerness : uint8_t { low, medium, high };

// The same as clients of the Realtime protocol set it ("semantic_vad"): 250 ms to 8, 4 or 2 s.
double semantic_silence_ms(double probability, Eagerness eagerness);

// Whether a text ends with a mark that ends sentences.
bool ends_sentence(std::string_view text);
// The text without such marks at its end, and without white space.
std::string_view without_end_marks(std::string_view text);

}  // namespace parlance
