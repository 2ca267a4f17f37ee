#include "assistant/draft_region.h"

#include <utility>

#include "assistant/model_files.h"
#include "gguf/reader.h"

namespace parlance {

namespace {

// The weights point into the mapping.
struct LoadedDrafter {
  GgufFile file;
  std::unique_ptr<Dflash> model;
};

Result<std::shared_ptr<const Dflash>> load(const std::filesystem::path& path, const TextModel& target) {
  PARLANCE_TRY(auto file, GgufFile::open(path));
  auto loaded = std::make_shared<LoadedDrafter>(LoadedDrafter{std::move(file), nullptr});
  PARLANCE_TRY(loaded->model, Dflash::load(loaded->file, target.model()));
  return std::shared_ptr<const Dflash>(loaded, loaded->model.get());
}

}  // namespace

Result<std::shared_ptr<const Dflash>> load_drafter(const Choice& choice, const TextModel& target,
                                                   const OnRemark& on_remark) {
  if (!choice.draft.uses_model) return nullptr;
  if (!choice.files.drafter.empty()) return load(choice.files.drafter, target);
  PARLANCE_TRY(const std::filesystem::path own, find_own_drafter(choice.files));
  if (own.empty()) return nullptr;
  auto drafter = load(own, target);
  if (drafter) return drafter;
  if (on_remark) on_remark(drafter.error().message + "; nothing is drafted");
  return nullptr;
}

}  // namespace parlance
