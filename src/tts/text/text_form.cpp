#include "tts/text/text_form.h"

#include "text/spoken_form.h"
#include "tts/text/non_verbal.h"

namespace parlance {

Result<TextForm> text_form_of(const GgufFile& base) {
  constexpr std::string_view kKey = "parlance.text_form", kSpokenEnglish = "spoken-english";
  PARLANCE_TRY(const auto form, base.find_string(kKey));
  if (!form) return TextForm::as_written;
  if (*form == kSpokenEnglish) return TextForm::spoken_english;
  return fail(ErrorCode::unsupported, "{}: {} is \"{}\"; this program knows \"{}\" and files without the key",
              base.name(), kKey, *form, kSpokenEnglish);
}

std::string in_form(TextForm form, std::string_view text) {
  if (form == TextForm::as_written) return std::string(text);
  constexpr std::string_view kMarks = ".,?!:;";
  std::string words;
  split_non_verbal(text, [&](std::string_view part) {
    if (non_verbal_tag(part, 0) == part.size()) return;
    if (kMarks.find(part.front()) == kMarks.npos) words += ' ';  // a tag stood between words
    words += part;
  });
  return to_say(words);
}

}  // namespace parlance
