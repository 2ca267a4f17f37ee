// How a speech model wants its text: as people write it, or as it is said.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gguf/reader.h"

namespace parlance {

enum class TextForm : uint8_t {
  as_written,
  spoken_english,  // words only, numbers and abbreviations too: small models learn no more than that
};

// What the file of the language model says in "parlance.text_form"; as_written when it says nothing.
Result<TextForm> text_form_of(const GgufFile& base);

// The text in that form. Spoken English has no tags of sounds, and is empty when there is nothing to read.
std::string in_form(TextForm form, std::string_view text);

}  // namespace parlance
