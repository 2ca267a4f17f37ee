#include "cli/demo_note.h"

#include "base/os/environment.h"

namespace parlance {

namespace {

bool is_demo(const Console& io, const ModelFiles& files) {
  return io.err_is_terminal && files.folder.empty() && files.text.empty() && !environment("PARLANCE_MODEL");
}

}  // namespace

void note_small_model(const Console& io, const ModelFiles& files) {
  if (!is_demo(io, files)) return;
  io.note("this is the demo's small model; a real one: parlance chat -m hf:Qwen/Qwen3-0.6B-GGUF:Q8_0");
}

void note_small_models(const Console& io, const ModelFiles& files) {
  if (!is_demo(io, files)) return;
  io.note(
      "these are the demo's small models, whose ears know synthetic voices only; 'parlance pull --help' says "
      "how "
      "to get real ones");
}

}  // namespace parlance
