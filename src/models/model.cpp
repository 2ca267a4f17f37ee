#include "models/model.h"

#include <algorithm>
#include <string>

#include "models/llama.h"
#include "models/qwen2.h"
#include "models/qwen2vl.h"
#include "models/qwen3.h"
#include "models/qwen35.h"
#include "models/qwen3vl.h"

namespace parlance {

bool Batch::adds_behind(int64_t layer) const {
  return std::ranges::any_of(added, [&](const LayerRowsAt& rows) { return rows.layer == layer; });
}

bool Wants::taps_layer(int64_t layer) const {
  return std::ranges::any_of(taps, [&](const Tap& tap) { return tap.layer == layer; });
}

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> kArchitectures = {
      llama_architecture(), qwen2_architecture(),  qwen2vl_architecture(),
      qwen3_architecture(), qwen35_architecture(), qwen3vl_architecture(),
  };
  return kArchitectures;
}

Result<const Architecture*> architecture_of(const GgufFile& file) {
  PARLANCE_TRY(const std::string_view name, file.get_string("general.architecture"));
  std::string names;
  for (const Architecture& architecture : architectures()) {
    if (architecture.name == name) return &architecture;
    names += (names.empty() ? "" : ", ") + std::string(architecture.name);
  }
  return fail(ErrorCode::unsupported, "{}: architecture \"{}\" is not one that this program runs ({})",
              file.name(), name, names);
}

Result<HyperParameters> read_hyper_parameters(const GgufFile& file) {
  PARLANCE_TRY(const Architecture* const architecture, architecture_of(file));
  return architecture->read(file);
}

Result<std::unique_ptr<Model>> load_model(const GgufFile& file, const Placement& placement,
                                          WeightPrecision precision) {
  PARLANCE_TRY(const Architecture* const architecture, architecture_of(file));
  PARLANCE_TRY(const HyperParameters hp, architecture->read(file));
  PARLANCE_TRY(auto weights, WeightLoader::create(file, precision));
  return architecture->load(hp, placement, std::move(weights));
}

}  // namespace parlance
