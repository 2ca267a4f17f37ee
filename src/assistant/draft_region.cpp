#include "assistant/draft_region.h"

#include <utility>

#include "assistant/model_files.h"
#include "gguf/reader.h"
#include "tokenizer/same_vocabulary.h"

namespace parlance {

namespace {

// The weights point into the mapping.
struct LoadedDrafter {
  GgufFile file;
  std::unique_ptr<Dflash> model;
};

Result<DraftModels> load(const std::filesystem::path& path, const TextModel& target, Device& device,
                         bool huge_pages) {
  PARLANCE_TRY(auto file, GgufFile::open(path));
  if (is_dflash(file)) {
    auto loaded = std::make_shared<LoadedDrafter>(LoadedDrafter{std::move(file), nullptr});
    PARLANCE_TRY(loaded->model, Dflash::load(loaded->file, target.model()));
    return DraftModels{.block = {loaded, loaded->model.get()}, .model = nullptr};
  }
  PARLANCE_CHECK(architecture_of(file));
  PARLANCE_TRY(const HyperParameters hp, read_hyper_parameters(file));
  PARLANCE_TRY(auto model,
               TextModel::load(std::move(file), Placement(device, hp.n_layer), {.huge_pages = huge_pages}));
  PARLANCE_CHECK(check_same_vocabulary(model->tokenizer(), model->file().name(), target.tokenizer(),
                                       target.file().name()));
  return DraftModels{.block = nullptr, .model = std::move(model)};
}

}  // namespace

Result<bool> may_draft(const Choice& choice) {
  if (choice.draft.looks_up) return true;
  if (!choice.draft.uses_model) return false;
  if (!choice.files.drafter.empty()) return true;
  PARLANCE_TRY(const std::filesystem::path own, find_own_drafter(choice.files));
  return !own.empty();
}

Result<DraftModels> load_drafter(const Choice& choice, const TextModel& target, Device& device,
                                 const OnRemark& on_remark) {
  if (!choice.draft.uses_model) return DraftModels();
  const bool huge_pages = choice.devices.huge_pages;
  if (!choice.files.drafter.empty()) return load(choice.files.drafter, target, device, huge_pages);
  PARLANCE_TRY(const std::filesystem::path own, find_own_drafter(choice.files));
  if (own.empty()) return DraftModels();
  auto drafter = load(own, target, device, huge_pages);
  if (drafter) return drafter;
  if (on_remark) on_remark(drafter.error().message + "; nothing is drafted");
  return DraftModels();
}

}  // namespace parlance
