// From what the speech recogniser's language model wrote to what was said.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace parlance {

// What was said, and in which language: "" when nobody spoke, or none was recognised.
struct Transcript {
  std::string language;
  std::string text;

  bool operator==(const Transcript&) const = default;
};

// What the output begins with when the model names the language itself.
inline constexpr std::string_view kLanguagePrefix = "language ";

// The tag between the name of the language and the words; it reaches the output as text.
inline constexpr std::string_view kAsrTextTag = "<asr_text>";

// Reads the model's whole output: "language English<asr_text>Hello.", or only the words when a language was
// forced (its name; "" when the model chose). Any bytes will do, what is no UTF-8 becomes U+FFFD; time and
// memory are linear in their number.
Transcript parse_transcript(std::string_view raw, std::string_view forced_language = {});

// The transcript of a recording from those of its pieces, in order.
Transcript merge_transcripts(std::span<const Transcript> pieces);

// The text without what a model that has lost its thread repeats: a run of more than 20 equal code points, or
// of 20 and more copies of up to 20 code points, becomes one. The text is valid UTF-8.
std::string drop_repetitions(std::string_view text);

// Whether the last tokens go round in a circle: up to 6 tokens, four times in a row or more. Generation
// stops.
bool is_degenerate_tail(std::span<const int32_t> tokens);

// The words alone, as the C interface for applications returns them: what follows the tag, up to the first
// special token that was written out, without ASCII white space at the ends; "" while it may still become a
// special token.
std::string clean_special_tokens(std::string_view text);

}  // namespace parlance
