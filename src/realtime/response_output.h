// An item that a response consists of: as far as it is written, spoken, and told.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "realtime/live_response.h"

namespace parlance {

struct LiveResponse::Output {
  explicit Output(size_t i) : index(i) {}

  const size_t index;
  Item item;
  std::string text;                        // that the model has written: words, or arguments
  size_t n_text_told = 0;                  // bytes of it
  bool is_written = false;                 // nothing more comes
  bool is_begun = false, is_done = false;  // as the client knows

  // Of words that are spoken.
  PhraseChunker chunker;
  struct Part {
    std::string text;            // as it is to be said
    size_t text_end = 0;         // in the words
    int64_t begin = 0, end = 0;  // samples of the item
    bool is_said = false, is_told = false;
  };
  std::vector<Part> phrases;
  size_t n_cut = 0;  // bytes of words that are in phrases
  int64_t n_asked = 0, n_said = 0;
  int64_t n_made = 0;  // samples
  std::shared_ptr<PlaybackClock> clock;
  std::optional<SoundEncoding> encoding;
  int64_t n_sent = 0;
  std::string sound;  // as it was sent
};

}  // namespace parlance
