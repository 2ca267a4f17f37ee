// Long text is spoken in chunks of whole sentences, one after the other. Lengths are in code points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace parlance {

// The length of chunks that take `seconds` each to speak, when the whole text takes n_frames.
size_t chunk_length(double seconds, double frames_per_second, int32_t n_frames, size_t n_text);

inline constexpr size_t kShortestChunk = 3;

inline bool contains(std::u32string_view marks, char32_t c) {
  return marks.find(c) != std::u32string_view::npos;
}

// Whether the text ends with a word such as "Mr.", whose full stop ends no sentence.
bool ends_with_abbreviation(std::string_view text);

// Chunks of at most `length`, or of one sentence if that is longer: sentences are never cut, and end at
// commas and colons too. What is shorter than `shortest` is joined to the chunk before it, or to the second
// if it is the first. Without white space at the ends; none is empty.
std::vector<std::string> split_chunks(std::string_view text, size_t length, size_t shortest = kShortestChunk);

// Gathers sentences into groups as long as they fit, code point by code point.
class SentenceGroups {
 public:
  struct Group {
    std::string text;
    size_t n = 0;  // code points
    bool is_blank = true;

    void append(const Group& other);
  };

  explicit SentenceGroups(size_t length) : length_(length) {}

  // Takes the next code point, of which these are the bytes. True when it does not fit into the group that
  // was open: that is `closed` now.
  bool add(char32_t c, std::string_view bytes, Group& closed);
  bool is_blank() const { return group_.is_blank && sentence_.is_blank; }
  // The open group; a new one begins.
  Group finish();

 private:
  size_t length_;
  Group group_;             // sentences that are behind
  Group sentence_;          // the last one, which fits, or is alone
  bool has_ended_ = false;  // it may still grow by marks that belong to its end
};

// Which chunks are joined to the one before: asked for every chunk, in order.
class ShortChunks {
 public:
  explicit ShortChunks(size_t shortest) : shortest_(shortest) {}

  bool joins(size_t n) {
    const bool is_short = n < shortest_;
    const bool joins = n_chunks_ > 0 && (is_short || (n_chunks_ == 1 && is_first_short_));
    if (n_chunks_++ == 0) is_first_short_ = is_short;
    return joins;
  }

 private:
  size_t shortest_, n_chunks_ = 0;
  bool is_first_short_ = false;
};

// The same while the text is still being written. A chunk comes out once the one after it is complete, since
// that might be too short to stand alone; joined chunks have no space between them.
class ChunkSplitter {
 public:
  explicit ChunkSplitter(size_t length, size_t shortest = kShortestChunk)
      : groups_(length), short_chunks_(shortest) {}

  // Chunks that are complete after these bytes, which may end inside a code point.
  std::vector<std::string> push(std::string_view bytes);
  // What is left at the end.
  std::vector<std::string> finish();

 private:
  struct Chunk {
    std::string text;
    size_t n = 0;
  };
  void take_text(std::string_view text, std::vector<std::string>& chunks);
  void take_group(const SentenceGroups::Group& group, std::vector<std::string>& chunks);
  void take_chunk(Chunk chunk, std::vector<std::string>& chunks);

  StreamingDecoder decoder_;
  SentenceGroups groups_;
  ShortChunks short_chunks_;
  Chunk held_;      // until the next chunk shows that it is not to be joined
  Chunk complete_;  // the one after, while nothing but white space has followed it
};

}  // namespace parlance
