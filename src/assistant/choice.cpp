#include "assistant/choice.h"

#include <array>

#include "base/parameter.h"
#include "hub/model_name.h"

namespace parlance {

namespace {

constexpr std::array<std::string_view, kRegions> kNames = {"text",    "asr",     "tts",    "vad",
                                                           "aligner", "speaker", "drafter"};

Result<void> check_pair(Parameter first, const std::string& first_file, Parameter second,
                        const std::string& second_file) {
  if (first_file.empty() == second_file.empty() || is_remote_name(first_file)) return {};
  return fail(ErrorCode::invalid_argument, "{} and {} are the two files of one model; give both", first,
              second);
}

}  // namespace

std::string_view name_of(Region region) {
  return kNames[static_cast<size_t>(region)];
}

std::optional<Region> region_from_name(std::string_view name) {
  if (name == "dflash" || name == "mtp") return Region::drafter;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Region>(i);
  }
  return std::nullopt;
}

Result<void> check(const ModelFiles& files) {
  PARLANCE_CHECK(check_pair(Parameter::asr, files.asr, Parameter::mmproj, files.mmproj));
  return check_pair(Parameter::tts_base, files.base, Parameter::tts_codec, files.codec);
}

}  // namespace parlance
