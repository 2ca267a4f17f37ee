// A bundle of files of a few hundred bytes, which say what they are and no more.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "bundle/make.h"
#include "bundle/manifest.h"
#include "bundle/support/manifests.h"
#include "gguf/writer.h"
#include "support/fixtures.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"
#include "tts/files/voice_preset.h"

namespace parlance::test {

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

inline void write_gguf(const std::filesystem::path& path, const std::string& architecture,
                       uint32_t n_ctx = 512, const std::vector<std::string>& tokens = {}) {
  std::filesystem::create_directories(path.parent_path());
  GgufWriter writer;
  writer.set_string("general.architecture", architecture);
  writer.set_string("general.name", "Tiny " + architecture);
  writer.set_u32(architecture + ".context_length", n_ctx);
  if (!tokens.empty()) writer.set_strings("tokenizer.ggml.tokens", tokens);
  const std::vector<int64_t> ne = {32};
  const std::vector<float> values(32, 0.5f);
  writer.add_tensor("weight", DType::f32, ne);
  ASSERT_TRUE(writer.begin(path));
  ASSERT_TRUE(writer.write_tensor(std::as_bytes(std::span(values))));
  ASSERT_TRUE(writer.finish());
}

// What make_manifest() cannot know.
inline nlohmann::json tiny_description() {
  nlohmann::json about = demo_manifest();
  about.erase("files");
  for (const char* component : {"voice", "asr", "drafter", "vad"}) {
    about["lineage"][component] = about["lineage"]["text"];
  }
  return about;
}

// Everything but a voice detector, whose file must be a whole one.
inline void write_tiny_files(const std::filesystem::path& folder) {
  write_gguf(folder / "text/model.gguf", "qwen3");
  write_gguf(folder / "asr/words.gguf", "qwen3vl");
  write_gguf(folder / "asr/sound.gguf", "clip");
  write_gguf(folder / "asr/aligner-words.gguf", "qwen3vl");
  write_gguf(folder / "asr/aligner-sound.gguf", "clip");
  write_gguf(folder / "tts/z.gguf", "omnivoice-lm");
  write_gguf(folder / "tts/codec/a.gguf", "omnivoice-tokenizer");
  write_gguf(folder / "dflash/drafter.gguf", "dflash-draft");
  write_bytes(folder / "text/README.md", "# A model\n");
  write_bytes(folder / "licenses/LICENSE", "MIT\n");
  std::filesystem::create_directories(folder / "cache");
  VoicePreset preset;
  preset.instruct = "female, low pitch";
  ASSERT_TRUE(write_voice_preset(folder / "cache/voice-preset-default.bin", preset));
  ASSERT_TRUE(write_voice_preset(folder / "cache/voice-preset-anna.bin", preset));
}

// The manifest of the folder's files as they are.
inline void write_tiny_manifest(const std::filesystem::path& folder,
                                const nlohmann::json& about = tiny_description()) {
  const TemporaryFolder elsewhere;
  write_bytes(elsewhere / "about.json", about.dump());
  MakeOptions options;
  options.description = elsewhere / "about.json";
  const auto text = make_manifest(folder, options);
  ASSERT_TRUE(text) << text.error().message;
  write_bytes(folder / std::string(kManifestName), *text);
}

inline void write_tiny_bundle(const std::filesystem::path& folder) {
  write_tiny_files(folder);
  write_tiny_manifest(folder);
}

// Changes what the manifest says without looking at the files.
template <class Change>
void change_manifest(const std::filesystem::path& folder, const Change& change) {
  nlohmann::json manifest = read_json(folder / kManifestName);
  change(manifest);
  write_bytes(folder / std::string(kManifestName), manifest.dump());
}

}  // namespace parlance::test
