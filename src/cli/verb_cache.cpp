// parlance cache: what compressing its keys and values does to a model.
#include <memory>

#include "assistant/cache_settling.h"
#include "assistant/default_model.h"
#include "assistant/device_shelf.h"
#include "assistant/text_region.h"
#include "cli/cache_report.h"
#include "cli/open_text.h"
#include "cli/terminal/options.h"
#include "cli/verbs.h"

namespace parlance {

namespace {

struct CacheOptions {
  Choice choice;
  bool by_head = false;
  bool wants_json = false;
};

Result<int> show_cache(Console& io, const CacheOptions& options) {
  DeviceShelf devices(options.choice.devices.n_threads);
  PARLANCE_TRY(const TextWeights text, load_text_weights(options.choice, devices, warnings_to(io)));
  PARLANCE_TRY(const CacheProbe probe, probe_of(*text.model, {}));
  if (options.wants_json) {
    io.print("{}\n", to_json(*text.model, probe).set("model", text.model->file().name()).pretty());
    return kSuccess;
  }
  print_chosen_caches(io, *text.model, probe);
  io.print(
      "\n  Errors of a text of some 500 tokens: \"scores\" of the attention's logits; \"from keys\" and "
      "\"from "
      "values\" of what\n  attention yields, as shares of it; \"first keys\": how much longer the longest of "
      "the "
      "first four is than most;\n  \"of them\": the share of the squared errors that comes of the first four "
      "keys and values.\n\n");
  print_format_losses(io, probe, options.by_head);
  return kSuccess;
}

}  // namespace

Command cache_command() {
  const auto options = std::make_shared<CacheOptions>();
  Command command;
  command.name = "cache";
  command.summary = "Show what compressing its cache does to a model, and what presets choose for it.";
  command.description =
      "Runs a short text through the model and tries formats on its keys and values, layer by layer. What is "
      "found is "
      "kept for the next time, and --cache balanced, small and auto choose by it.";
  command.examples = {{"parlance cache model.gguf", "what presets choose, and each format's errors by layer"},
                      {"parlance cache --heads", "the bundled model, by head"},
                      {"parlance cache model.gguf --json", "for scripts"}};
  Option model = model_text_option("MODEL", "FILE", "The model; without it the bundled one.",
                                   options->choice.files.folder);
  command.positionals = {model};
  command.groups = {
      {"Where",
       {device_option(options->choice.devices.text), threads_option(options->choice.devices.n_threads)}},
      {"Output",
       {flag("--heads", "Every head of its own.", options->by_head), json_option(options->wants_json)}}};
  command.run = [options](Console& io) { return show_cache(io, *options); };
  return command;
}

}  // namespace parlance
