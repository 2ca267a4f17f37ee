#include "cli/speech_models.h"

#include "cli/terminal/options.h"

namespace parlance {

OptionGroup say_model_group(Choice& choice) {
  ModelFiles& files = choice.files;
  return {
      "Models",
      {model_text_option(
           "-m, --model", "FOLDER",
           "The folder with the two files of an OmniVoice model, or a bundle that has them in its "
           "folder tts, and voices in its folder cache. Without it: the bundled demo model.",
           files.folder),
       model_text_option("--base", "FILE", "The language model, with --codec instead of a folder.",
                         files.base),
       model_text_option("--codec", "FILE", "The codec (\"tokenizer\") that belongs to --base.", files.codec),
       threads_option(choice.devices.n_threads), device_option(choice.devices.voice),
       huge_pages_option(choice.devices.huge_pages), widened_weights_option(choice.devices.widened_weights)}};
}

Result<void> check_speech_models(const Choice& choice) {
  const ModelFiles& files = choice.files;
  PARLANCE_CHECK(check(files));
  if (files.base.empty() || files.folder.empty()) return {};
  return fail(ErrorCode::invalid_argument, "--model and --base both name the model; leave one out");
}

}  // namespace parlance
