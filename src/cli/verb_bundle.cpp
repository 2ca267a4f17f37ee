// parlance bundle: folders of models with a manifest. Checks them, shows them, and writes the manifest.
#include <memory>

#include "assistant/default_model.h"
#include "base/os/file.h"
#include "bundle/bundle.h"
#include "bundle/make.h"
#include "bundle/manifest.h"
#include "bundle/verify.h"
#include "cli/bundle_report.h"
#include "cli/terminal/options.h"
#include "cli/verbs.h"

namespace parlance {

namespace {

namespace fs = std::filesystem;

struct BundleOptions {
  std::string what;  // verify, show, make
  std::string folder;
  MakeOptions make;
  std::string description;
  bool wants_json = false;
};

// The folder that is meant, or the demo bundle.
Result<fs::path> folder_of(const BundleOptions& options) {
  if (!options.folder.empty()) return options.folder;
  const fs::path demo = find_demo_bundle();
  if (!demo.empty()) return demo;
  return fail(ErrorCode::not_found,
              "there is no models/demo near this folder or the program; name the FOLDER of a bundle");
}

// What is good and what is not in the folder; the exit code says whether all is.
Result<int> report_on(const Console& io, const fs::path& folder, bool wants_json) {
  PARLANCE_TRY(const BundleReport report, verify_bundle(folder));
  if (wants_json) {
    io.print("{}\n", to_json(report).pretty());
  } else {
    print_verification(io, report);
  }
  return report.has_passed() ? kSuccess : kFailure;
}

Result<int> verify(const Console& io, const BundleOptions& options) {
  PARLANCE_TRY(const fs::path folder, folder_of(options));
  return report_on(io, folder, options.wants_json);
}

Result<int> show(const Console& io, const BundleOptions& options) {
  PARLANCE_TRY(const fs::path folder, folder_of(options));
  PARLANCE_TRY(const BundleReport report, describe_bundle(folder));
  if (options.wants_json) {
    io.print("{}\n", to_json(report).pretty());
  } else {
    print_description(io, report);
  }
  return kSuccess;
}

Result<int> make(const Console& io, const BundleOptions& options) {
  const fs::path folder = options.folder;
  MakeOptions making = options.make;
  making.description = options.description;
  PARLANCE_TRY(const std::string text, make_manifest(folder, making));
  const fs::path path = folder / kManifestName;
  PARLANCE_TRY(AtomicFile file, AtomicFile::create(path));
  PARLANCE_CHECK(file.write(text));
  PARLANCE_CHECK(file.commit());
  // Files that are there may still not be what they are listed as.
  return report_on(io, folder, options.wants_json);
}

Result<void> check_options(const BundleOptions& options) {
  const auto refuse = [](const char* message) { return fail(ErrorCode::invalid_argument, "{}", message); };
  if (options.what == "make") {
    return options.folder.empty() ? refuse("FOLDER is missing: whose manifest is to be written?")
                                  : Result<void>();
  }
  if (options.what != "verify" && options.what != "show") {
    return fail(ErrorCode::invalid_argument, "'{}' cannot be done to bundles; give verify, show or make",
                options.what);
  }
  const MakeOptions& making = options.make;
  if (!making.id.empty() || !making.tier.empty() || !making.version.empty() || !making.published_at.empty() ||
      !options.description.empty()) {
    return refuse("--id, --tier, --version, --published and --from belong to bundle make");
  }
  return {};
}

}  // namespace

Command bundle_command() {
  const auto options = std::make_shared<BundleOptions>();
  Command command;
  command.name = "bundle";
  command.summary = "Check, show or write the manifest of a folder of models.";
  command.description =
      "A bundle is a folder with the models of an assistant and a manifest, eliza-1.manifest.json, which "
      "names each file with its SHA-256, says where the models come from, what they need and how they did in "
      "tests.\n\n"
      "verify compares every file with its checksum and opens it, and compares the kernels and memory that "
      "the bundle requires with this machine; the exit code is 0 when all is well. show prints models, "
      "sizes, licences and scores. make writes the manifest of a folder: the files are found in text, tts, "
      "asr, vad, dflash, vision, cache, …, and what they do not say is taken from the JSON file of --from, "
      "or from the manifest that is there.\n\n"
      "Verbs that load models from a bundle check the files they use by themselves.";
  command.examples = {{"parlance bundle verify bundle/", "whether it is whole, and runs here"},
                      {"parlance bundle show bundle/ --json", "what is in it, for programs"},
                      {"parlance bundle make bundle/ --from about.json --id eliza-1-demo --version 1.0.0 "
                       "--published 2026-11-22T08:00:00Z",
                       "a new manifest"},
                      {"parlance bundle make bundle/ --version 1.0.1", "after a file has changed"}};
  Option what = text_option("WHAT", "WHAT", "verify, show or make.", options->what);
  what.required = true;
  Option folder =
      text_option("FOLDER", "FOLDER", "The bundle. Without it: the bundled demo models.", options->folder);
  command.positionals = {what, folder};
  command.groups = {
      {"Manifest",
       {text_option("--from", "FILE", "JSON with lineage, kernels, evals, ramBudgetMb, …",
                    options->description),
        text_option("--id", "ID", "Its name: eliza-1-TIER, or with more behind it.", options->make.id),
        text_option("--tier", "TIER", "Its class of size; for demo, rules about products do not hold.",
                    options->make.tier),
        text_option("--version", "VERSION", "Such as 1.0.0.", options->make.version),
        text_option("--published", "TIME", "When, in UTC: 2026-11-22T08:00:00Z.",
                    options->make.published_at)}},
      {"Output", {json_option(options->wants_json)}}};
  command.check = [options] { return check_options(*options); };
  command.run = [options](Console& io) {
    if (options->what == "make") return make(io, *options);
    return options->what == "verify" ? verify(io, *options) : show(io, *options);
  };
  return command;
}

}  // namespace parlance
