#include "models/model.h"

#include <string>

#include "models/llama.h"
#include "models/qwen2.h"
#include "models/qwen3.h"
#include "models/qwen35.h"
#include "models/qwen3vl.h"

namespace parlance {

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> kArchitectures = {
      {"llama", load_llama},    {"qwen2", load_qwen2},     {"qwen3", load_qwen3},
      {"qwen35", Qwen35::load}, {"qwen3vl", load_qwen3vl},
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

Result<std::unique_ptr<Model>> load_model(const GgufFile& file, const Placement& placement,
                                          WeightPrecision precision) {
  PARLANCE_TRY(const Architecture* const architecture, architecture_of(file));
  PARLANCE_TRY(const HyperParameters hp, read_hyper_parameters(file));
  PARLANCE_TRY(auto weights, WeightLoader::create(file, precision));
  return architecture->load(hp, placement, std::move(weights));
}

}  // namespace parlance
