// Options that several verbs share, each with one home for its names, help text and default. Names are those
// that users of llama.cpp know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assistant/answer_form.h"
#include "assistant/choice.h"
#include "cli/terminal/cache_options.h"
#include "cli/terminal/command.h"
#include "engine/generate.h"
#include "engine/session.h"

namespace parlance {

// Which models run where, with what memory.
struct ModelChoice : Choice {
  CacheChoice cache;  // as it was given: the options of the cache write the policy to where it is used
};

// How answers are made.
struct AnswerChoice {
  GenerateOptions generate;
  std::optional<uint64_t> seed;  // not given: another one every time
  bool is_greedy = false;
};

// Where the prompt comes from, and how the model is asked.
struct PromptChoice {
  std::optional<std::string> text;  // "-": standard input
  std::string file;                 // "-": standard input
  std::string system;
  bool is_raw = false;
  bool has_thinking = false;
};

Option model_option(std::string& path);
Option hub_option(std::string& path);
Option threads_option(int& n_threads);
Option device_option(std::string& device);
Option voice_device_option(std::string& device);  // --voice-device
Option gpu_layers_option(std::optional<int64_t>& n_gpu_layers);
Option huge_pages_option(bool& huge_pages);
Option widened_weights_option(bool& widened_weights);
Option json_option(bool& target, std::string help = "Print one JSON object instead of text for people.");

OptionGroup model_group(ModelChoice& choice);                       // --model to --cache-sketch
OptionGroup draft_group(ModelChoice& choice, DraftOptions& draft);  // --draft to --draft-rule
OptionGroup sampling_group(AnswerChoice& choice);  // --temp to --logit-bias; also what /set changes
OptionGroup answer_group(AnswerChoice& choice);    // --max-tokens, --stop, --ignore-eos
OptionGroup form_group(AnswerForm& form);          // --json-schema, --grammar, --regex
Option prompt_option(std::optional<std::string>& text, std::string help);
Option file_option(std::string& file, std::string help);

// Applies --greedy and checks the settings against each other; an error of usage.
Result<void> check_answer(AnswerChoice& choice);

// The seed that was given, or one from the system's random source.
uint64_t seed_of(const AnswerChoice& choice);

}  // namespace parlance
