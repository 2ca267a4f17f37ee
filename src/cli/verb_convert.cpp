// parlance convert: a folder of published weights as a model file.
#include <memory>

#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/units.h"
#include "cli/verbs.h"
#include "convert/convert.h"
#include "json/json.h"
#include "models/mixture.h"

namespace parlance {

namespace {

struct ConvertArguments {
  std::string folder, out, type;
  bool wants_json = false;
};

Result<int> convert(Console& io, const ConvertArguments& arguments) {
  // The unfinished file is removed when the work ends, so a second Ctrl-C has to wait for it too.
  const InterruptGuard guard(SecondInterrupt::waits);
  ConvertOptions options{.out = arguments.out, .type = arguments.type, .progress = {}};
  bool is_shown = false;
  options.progress = [&](const ConvertProgress& progress) {
    if (io.err_is_terminal) {
      const std::string line = fmt::format("{}  {}/{} tensors  {}", printable(progress.file), progress.n_done,
                                           progress.n_tensors, printable(progress.tensor));
      io.write_progress(shorten(line, static_cast<size_t>(io.width) - 1));
      is_shown = true;
    }
    return !guard.interrupted();
  };
  const auto files = convert_folder(arguments.folder, options);
  if (is_shown) io.write_progress("");
  if (!files) return tl::unexpected(files.error());
  if (arguments.wants_json) {
    Json list = Json::array();
    for (const ConvertedFile& file : *files) {
      list.push(Json::object({{"what", file.what},
                              {"architecture", file.architecture},
                              {"file", file.path.string()},
                              {"tensors", file.n_tensors},
                              {"bytes", file.n_bytes}}));
    }
    io.print("{}\n", Json::object({{"files", list}}).pretty());
    return kSuccess;
  }
  for (const ConvertedFile& file : *files) {
    io.print("  {:<8}{}  {} tensors, {}\n", file.what, printable(file.path.string()), file.n_tensors,
             format_bytes(static_cast<double>(file.n_bytes)));
  }
  return kSuccess;
}

}  // namespace

Command convert_command() {
  const auto arguments = std::make_shared<ConvertArguments>();
  Command command;
  command.name = "convert";
  command.summary = "Make a model file of the weights that its makers published.";
  command.description =
      "FOLDER has config.json, the vocabulary, and *.safetensors, as 'parlance pull ORG/NAME' fetches them: "
      "of "
      "Qwen3, Qwen2, Llama, Qwen3-ASR or OmniVoice. The file has the names, types and metadata of "
      "llama.cpp's "
      "converter. Of Qwen3-ASR come two files, mmproj-FILE beside FILE; of OmniVoice FILE and "
      "FILE-tokenizer.\n\n"
      "Tensors are read and written one by one. A file appears when it is complete, and not at all if "
      "something "
      "goes wrong.";
  command.examples = {{"parlance convert Qwen3-0.6B/ -o qwen3.gguf", "with the numbers as published"},
                      {"parlance convert Qwen3-0.6B/ -o qwen3-q4.gguf --type q4_k_m", "a third of the size"}};
  Option folder =
      text_option("FOLDER", "FOLDER", "Where config.json and the weights are.", arguments->folder);
  folder.required = true;
  command.positionals = {folder};
  Option type =
      text_option("--type, --outtype", "TYPE",
                  "Of matrices: f32, f16, bf16, q8_0, or one of " + mixture_names() + ".", arguments->type);
  type.fallback = "as published";
  Option out =
      text_option("-o, --output", "FILE", "The file to write; an existing one is replaced.", arguments->out);
  out.fallback = "NAME.gguf in the current folder";
  command.groups = {{"Result", {out, type}}, {"Output", {json_option(arguments->wants_json)}}};
  command.run = [arguments](Console& io) { return convert(io, *arguments); };
  return command;
}

}  // namespace parlance
