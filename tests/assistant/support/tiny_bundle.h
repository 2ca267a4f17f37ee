// A bundle of tiny models of random weights, with all that a conversation by voice takes.
#pragma once

#include <filesystem>

#include "assistant/choice.h"
#include "assistant/voice_session.h"
#include "support/fixtures.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"
#include "tts/support/tiny_tts.h"
#include "vad/support/vad_fixtures.h"

namespace parlance::test {

// What it needs of the fixtures; the running test is skipped without these.
#define PARLANCE_REQUIRE_TINY_BUNDLE()           \
  PARLANCE_REQUIRE_FIXTURES("asr/bundle-tiny");  \
  PARLANCE_REQUIRE_FIXTURES("omnivoice/models"); \
  PARLANCE_REQUIRE_FIXTURES("../data")

inline Choice tiny_choice(const TemporaryFolder& folder) {
  namespace fs = std::filesystem;
  make_tiny_bundle(folder);
  fs::create_directory_symlink(fixtures_root() / "asr/bundle-tiny/asr", folder / "asr");
  fs::create_directories(folder / "text");
  write_tiny_model(folder / "text/tiny.gguf");
  Choice choice;
  choice.files.folder = folder.path().string();
  choice.files.vad = vad_file(kVadSet).string();
  choice.devices.n_threads = 2;
  suit_conversation(choice);
  choice.recognizer.max_tokens = 16;
  return choice;
}

}  // namespace parlance::test
