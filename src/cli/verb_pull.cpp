// parlance pull: models from a hub, or from an address.
#include <algorithm>
#include <chrono>
#include <memory>

#include "base/ascii.h"
#include "cli/pull_view.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/units.h"
#include "cli/verbs.h"
#include "http/curl_transport.h"
#include "hub/content_digest.h"
#include "json/json.h"

namespace parlance {

namespace {

struct PullArguments {
  std::vector<std::string> names;
  std::string target, sha256;
  int n_retries = PullOptions().patience.n_retries;
  int timeout_s = CurlOptions().silence_timeout_s;
  bool is_offline = false;
  bool wants_json = false;
};

const char* kind_name(RepoKind kind) {
  switch (kind) {
    case RepoKind::bundle:
      return "bundle";
    case RepoKind::sources:
      return "safetensors";
    case RepoKind::model:
      break;
  }
  return "model";
}

// What is loaded: of a bundle, and of what is to be converted, the folder.
std::string path_of(const LocalModel& model) {
  return (model.kind == RepoKind::model ? model.model : model.folder).string();
}

uint64_t fetched_bytes(const Pulled& pulled) {
  uint64_t n = 0;
  for (const PulledFile& file : pulled.files) n += file.n_fetched;
  return n;
}

Json to_json(const Pulled& pulled, double seconds) {
  Json files = Json::array();
  for (const PulledFile& file : pulled.files) {
    files.push(Json::object({{"path", file.path},
                             {"file", file.place.string()},
                             {"bytes", file.n_bytes},
                             {"fetched_bytes", file.n_fetched},
                             {"digest", file.digest}}));
  }
  return Json::object({{"name", pulled.name.text()},
                       {"kind", kind_name(pulled.model.kind)},
                       {"commit", pulled.commit},
                       {"path", path_of(pulled.model)},
                       {"mmproj", pulled.model.mmproj.string()},
                       {"codec", pulled.model.codec.string()},
                       {"fetched_bytes", fetched_bytes(pulled)},
                       {"seconds", seconds},
                       {"files", files}});
}

// What can be done with it now.
std::string use_of(const Pulled& pulled) {
  const LocalModel& model = pulled.model;
  const std::string name = pulled.name.repo.empty() ? path_of(model) : pulled.name.text();
  if (model.kind == RepoKind::sources) return "parlance convert " + model.folder.string() + " -o MODEL.gguf";
  if (model.kind == RepoKind::bundle) return "parlance talk -m " + name;
  if (!model.codec.empty()) return "parlance say -m " + name + " \"Good morning.\"";
  if (!model.mmproj.empty()) {
    return fmt::format("parlance chat -m {}    or, if it is one that listens: parlance listen -m {} FILE",
                       name, name);
  }
  return "parlance chat -m " + name;
}

void print_pulled(const Console& io, const Pulled& pulled, double seconds) {
  const auto line = [&](const char* what, const std::filesystem::path& path) {
    if (!path.empty()) io.print("  {:<8}{}\n", what, printable(path.string()));
  };
  line(kind_name(pulled.model.kind), path_of(pulled.model));
  line("mmproj", pulled.model.mmproj);
  line("codec", pulled.model.codec);
  const auto n_bytes = static_cast<double>(fetched_bytes(pulled));
  const bool is_checked =
      std::ranges::none_of(pulled.files, [](const PulledFile& file) { return file.digest.empty(); });
  if (n_bytes > 0) {
    io.print("\n  {} in {} ({}/s); {}\n", format_bytes(n_bytes), format_seconds(seconds),
             format_bytes(n_bytes / std::max(seconds, 1e-3)),
             is_checked ? "checksums are right" : "its checksum is not known; --sha256 would check it");
  } else {
    io.print("\n  all of it was here\n");
  }
  io.print("  now: {}\n", printable(use_of(pulled)));
}

Result<int> pull_all(const Console& io, const PullArguments& arguments) {
  const InterruptGuard guard(SecondInterrupt::ends_program);
  PARLANCE_TRY(HubSettings settings, hub_settings());
  settings.is_offline |= arguments.is_offline;
  const auto transport = make_curl_transport({.silence_timeout_s = arguments.timeout_s});
  Json all = Json::array();
  for (const std::string& text : arguments.names) {
    PARLANCE_TRY(const ModelName name, parse_model_name(text, settings.endpoint));
    if (!name.repo.empty() && (!arguments.target.empty() || !arguments.sha256.empty())) {
      return fail(ErrorCode::invalid_argument,
                  "--output and --sha256 belong to an address; what hubs have goes into their cache, and its "
                  "checksums are known");
    }
    PullView view(io);
    PullOptions options = view.options();
    options.patience.n_retries = arguments.n_retries;
    options.target = arguments.target;
    options.sha256 = arguments.sha256;
    const auto begin = std::chrono::steady_clock::now();
    PARLANCE_TRY(const Pulled pulled, pull(name, settings, options, *transport, guard.ticket()));
    view.clear();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (arguments.wants_json) {
      all.push(to_json(pulled, seconds));
    } else {
      print_pulled(io, pulled, seconds);
    }
  }
  if (arguments.wants_json)
    io.print("{}\n", (arguments.names.size() == 1 ? all.elements()->front() : all).pretty());
  return kSuccess;
}

Result<void> check(PullArguments& arguments) {
  if (arguments.names.size() > 1 && !(arguments.target.empty() && arguments.sha256.empty())) {
    return fail(ErrorCode::invalid_argument, "--output and --sha256 belong to one address; give one");
  }
  arguments.sha256 = ascii::lower(arguments.sha256);
  const bool is_digest =
      arguments.sha256.size() == kSha256Digits &&
      std::ranges::all_of(arguments.sha256, [](char c) { return ascii::hex_value(c) >= 0; });
  if (arguments.sha256.empty() || is_digest) return {};
  return fail(ErrorCode::invalid_argument, "--sha256: expected {} hexadecimal digits, got '{}'",
              kSha256Digits, arguments.sha256);
}

}  // namespace

Command pull_command() {
  const auto arguments = std::make_shared<PullArguments>();
  Command command;
  command.name = "pull";
  command.summary = "Fetch a model from the Hugging Face hub, or from an address.";
  command.description =
      "NAME is ORG/NAME of a repository, with :QUANTISATION where another than the usual is wanted (Q4_K_M, "
      "else "
      "Q8_0, else what there is), /FILE for one file of it, or @REVISION; hf: before it, and addresses of "
      "the hub's "
      "pages, mean the same. All parts of a model come, with the encoder (mmproj) or codec that belongs to "
      "it; of "
      "a bundle, all. A repository of safetensors comes as a folder for parlance convert.\n\n"
      "Files go into the hub's cache, which other programs share, and are what their checksums say or are "
      "not "
      "there. What is cut short goes on with the next call. --model hf:NAME of other verbs does the same, "
      "and asks "
      "nobody when the model is here. Any other https address is fetched into a folder of this program, or "
      "to "
      "--output.\n\n"
      "Environment: HF_TOKEN (or the file token in HF_HOME) for repositories that want to know who asks; "
      "HF_ENDPOINT "
      "names a mirror; HF_HOME, HF_HUB_CACHE say where the cache is; HF_HUB_OFFLINE=1 fetches nothing; "
      "HTTPS_PROXY, "
      "NO_PROXY.";
  command.examples = {{"parlance pull Qwen/Qwen3-0.6B-GGUF:Q8_0", "a language model"},
                      {"parlance chat -m hf:Qwen/Qwen3-0.6B-GGUF:Q8_0", "the same, and talk with it"},
                      {"parlance pull ggml-org/Qwen3-ASR-0.6B-GGUF --json", "one that listens; for scripts"},
                      {"parlance pull https://example.org/model.gguf -o model.gguf", "from an address"}};
  Option names{.names = "NAME",
               .value = "NAME",
               .help = "ORG/NAME[:QUANTISATION], or an address.",
               .fallback = {},
               .set = {},
               .repeatable = true,
               .required = true};
  names.set = [arguments](const std::string& name) -> Result<void> {
    arguments->names.push_back(name);
    return {};
  };
  command.positionals = {names};
  command.groups = {
      {"Where",
       {text_option("-o, --output", "FILE", "Of an address: where its file is put.", arguments->target),
        text_option("--sha256", "DIGITS", "Of an address: what the file's SHA-256 must be.",
                    arguments->sha256),
        flag("--offline", "Ask nobody: only say where what is here lies.", arguments->is_offline)}},
      {"Network",
       {number_option<int>("--retries", "N", "How often in a row what fails is tried again.",
                           arguments->n_retries, 0, 1000),
        number_option<int>("--timeout", "SECONDS", "A server that is silent for so long is asked again.",
                           arguments->timeout_s, 1, 3600)}},
      {"Output", {json_option(arguments->wants_json)}}};
  command.check = [arguments] { return check(*arguments); };
  command.run = [arguments](Console& io) { return pull_all(io, *arguments); };
  return command;
}

}  // namespace parlance
