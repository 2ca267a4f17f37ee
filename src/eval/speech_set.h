// Recordings or texts with what is said in them, one JSON object a line:
// {"audio": "x.wav", "text": "What is said.", "group": "seen"}
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace parlance {

struct SpeechLine {
  std::string text;             // empty: nobody speaks
  std::string group;            // empty: none
  std::filesystem::path audio;  // as all files here: found from the folder of the set

  // How a text is to be spoken.
  std::string voice, instruct;
  std::filesystem::path reference;
  std::string reference_text;
  std::filesystem::path compare;  // a recording of the voice that it should sound like
};

// Which member a line must have beside "text".
enum class SpeechSetKind { recordings, texts };

// The lines of a file, or of index.jsonl in a folder; when there are more than `limit` (0: no limit), so many
// of them at even distances. Errors name file and line.
Result<std::vector<SpeechLine>> read_speech_set(const std::filesystem::path& file_or_folder,
                                                SpeechSetKind kind, int64_t limit = 0);

}  // namespace parlance
