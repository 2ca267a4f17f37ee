// English as written, and as it is said: "23 + 5 = 28 at 3:40 pm" is "twenty three plus five equals twenty
// eight at three forty P M". The twin of training/speech/spoken_form.py; both agree on spoken_form.json
// there.
#pragma once

#include <string>
#include <string_view>

namespace parlance {

// Numbers, times, sums, symbols and abbreviations in words, with the punctuation of sentences: what a speech
// model that was trained on words is given. Letters that are read by name stand alone in upper case. ASCII.
// The text may have any bytes; what cannot be read in English is left out.
std::string to_say(std::string_view text);

// The words of to_say() in lower case: a to z, apostrophes inside words, and single spaces. Texts with the
// same spoken form sound alike.
std::string spoken(std::string_view text);

}  // namespace parlance
