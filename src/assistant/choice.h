// Which models an assistant runs, where, and with what memory: plain data, which every door fills in from its
// own words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "asr/recognizer.h"
#include "base/result.h"
#include "engine/session.h"
#include "tts/synthesizer.h"

namespace parlance {

// What can be loaded and let go by itself.
enum class Region : uint8_t { text, asr, tts, vad, aligner, speaker, drafter };
inline constexpr int kRegions = 7;

std::string_view name_of(Region region);  // "text"
// By that name; the drafter also by those of other programs ("dflash", "mtp").
std::optional<Region> region_from_name(std::string_view name);

// Where the files are. Each that is named takes the place of what the folder has. All may also be names of a
// hub (hub/model_name.h): "hf:ORG/NAME:Q8_0". That of a pair's first file then says both.
struct ModelFiles {
  // A bundle, or a folder with the files of the one model that is asked for; where a language model is asked
  // for, also its file. Empty: the bundled demo.
  std::string folder = {};
  std::string text = {};
  std::string asr = {}, mmproj = {};  // language model and audio encoder of the recogniser
  std::string base = {}, codec = {};  // language model and codec of the synthesizer
  std::string vad = {};
  std::string speaker = {};
  std::string drafter = {};
  std::string embedding = {};
};

struct DeviceChoice {
  std::string text = "cpu";             // of the language model and its drafter
  std::string voice = {};               // of all that hears and speaks; empty: that of text
  std::string asr = {};                 // of the recogniser alone; empty: that of voice
  std::string codec = {};               // of the synthesizer's codec alone; empty: that of voice
  int n_threads = 0;                    // of the CPU; 0: as many as there are processors
  std::optional<int64_t> n_gpu_layers;  // on the language model's device; not given: as many as fit
  bool huge_pages = true;               // weights that the CPU reads move into memory of this program
  std::optional<bool> asr_huge_pages;   // the recogniser's alone
  bool widened_weights = true;          // GPUs with ample memory keep the synthesizer's as f16, too
  // What a model says does not depend on what else is computed, nor on where a text was cut into steps, to
  // the last bit: also where that costs speed.
  bool is_deterministic = false;

  // Where there is a choice of its own, that.
  const std::string& of_voice() const { return voice.empty() ? text : voice; }
  const std::string& of_asr() const { return asr.empty() ? of_voice() : asr; }
  const std::string& of_codec() const { return codec.empty() ? of_voice() : codec; }
};

// What may propose tokens for the language model to verify several at once. Which file is in ModelFiles.
struct DraftChoice {
  bool uses_model = true;    // a drafter: the one that is named, else the bundle's if it has one
  bool looks_up = false;     // the text itself: what followed the same words before
  bool is_required = false;  // an answer for which nothing was drafted is an error
};

struct Choice {
  ModelFiles files;
  DraftChoice draft;
  DeviceChoice devices;
  // Of a sequence of the language model, in tokens; 0: as many as it was trained for. Not given: that of
  // `context`, or what it was trained for if that is less.
  std::optional<int64_t> n_ctx;
  // Tokens of a prompt that it computes together; not given: see batch_size.h.
  std::optional<int64_t> n_batch;
  SessionOptions context;
  RecognizerOptions recognizer;
  SynthesizerOptions synthesizer;
};

// Of the two files of one model one alone says nothing.
Result<void> check(const ModelFiles& files);

}  // namespace parlance
