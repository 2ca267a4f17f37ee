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
  const size_t n_bytes = file.n_bytes();
  if (is_dflash(file)) {
    auto loaded = std::make_shared<LoadedDrafter>(LoadedDrafter{std::move(file), nullptr});
    PARLANCE_TRY(loaded->model, Dflash::load(loaded->file, target.model()).map_error(or_draft_nothing));
    return DraftModels{.block = {loaded, loaded->model.get()}, .model = nullptr, .bytes = n_bytes};
  }
  PARLANCE_CHECK(architecture_of(file));
  PARLANCE_TRY(const HyperParameters hp, read_hyper_parameters(file));
  PARLANCE_TRY(auto model,
               TextModel::load(std::move(file), Placement(device, hp.n_layer), {.huge_pages = huge_pages})
                   .map_error(or_draft_nothing));
  PARLANCE_CHECK(check_same_vocabulary(model->tokenizer(), model->file().name(), target.tokenizer(),
                                       target.file().name()));
  return DraftModels{.block = nullptr, .model = std::move(model), .bytes = n_bytes};
}

}  // namespace

Result<std::shared_ptr<Context>> create_context(const TextModel& model, SessionOptions options,
                                                DraftModels& drafters, int64_t least_batch, bool may_go,
                                                const OnRemark& on_remark) {
  options.drafter = drafters.block;
  options.draft_model = drafters.model;
  const auto lacks_memory = [](const auto& created) {
    return !created && created.error().code == ErrorCode::out_of_memory;
  };
  auto context = Context::create(model, options);
  if (lacks_memory(context) && options.n_batch > least_batch) {
    options.n_batch = least_batch;
    context = Context::create(model, options);
  }
  const bool has_drafter = drafters.block || drafters.model;
  if (!lacks_memory(context) || !may_go || !has_drafter) return context;
  drafters = {};
  options.drafter = nullptr;
  options.draft_model = nullptr;
  auto without = Context::create(model, options);
  if (without && on_remark) on_remark(context.error().message + "; nothing is drafted");
  return without;
}

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
