// The files of the models that were chosen.
#pragma once

#include <filesystem>

#include "asr/asr_model.h"
#include "assistant/choice.h"
#include "base/result.h"
#include "tts/tts_model.h"

namespace parlance {

// The same choice with files in place of models that are named as hubs name them (hub/model_name.h). A bundle
// is a folder; of one model its files are put where they belong: with an encoder beside it (mmproj) it can
// also listen, with a codec it is one that speaks. Errors say how to fetch what is not here.
Result<ModelFiles> on_this_machine(ModelFiles files);

// A file that was named, else what the folder has, else (where there is no folder) the bundled demo's. Files
// of a bundle with a manifest are checked against it. Errors say how to name one.

// For the language model the environment variable PARLANCE_MODEL counts before the demo.
Result<std::filesystem::path> find_text_file(const ModelFiles& files);
Result<AsrFiles> find_asr_files(const ModelFiles& files);
Result<TtsFiles> find_tts_files(const ModelFiles& files);
Result<AsrFiles> find_aligner_files(const ModelFiles& files);
// Else the one that the environment names; an error with the code not_found when there is none.
Result<std::filesystem::path> find_vad_file(const ModelFiles& files);
Result<std::filesystem::path> find_speaker_file(const ModelFiles& files);
Result<std::filesystem::path> find_drafter_file(const ModelFiles& files);
// The model that embeds texts; an error with the code not_found when there is none.
Result<std::filesystem::path> find_embedding_file(const ModelFiles& files);
// The drafter that lies in one bundle with the language model; empty when there is none.
Result<std::filesystem::path> find_own_drafter(const ModelFiles& files);

// The folder whose folder `cache` has the voices of the synthesizer.
std::filesystem::path find_voices(const ModelFiles& files);

}  // namespace parlance
