#include "assistant/regions.h"

#include <future>
#include <vector>

namespace parlance {

// Calls visit(slot) for the slot of a region.
template <class Visit>
auto Regions::visit(auto& regions, Region region, Visit visit) {
  switch (region) {
    case Region::text:
      return visit(regions.text);
    case Region::asr:
      return visit(regions.asr);
    case Region::tts:
      return visit(regions.tts);
    case Region::vad:
      return visit(regions.vad);
    case Region::aligner:
      return visit(regions.aligner);
    case Region::speaker:
      return visit(regions.speaker);
    case Region::drafter:
      break;
  }
  return visit(regions.drafter);
}

Regions::Regions(Choice choice, OnRemark on_remark)
    : choice_(std::move(choice)),
      on_remark_(std::move(on_remark)),
      devices_(choice_.devices.n_threads, choice_.devices.is_deterministic),
      text([this] { return TextRegion::load(choice_, devices_, on_remark_); }),
      asr([this] { return AsrRegion::load(choice_, devices_); }),
      tts([this] { return TtsRegion::load(choice_, devices_); }),
      vad([this] { return VadRegion::load(choice_); }),
      aligner([this] { return AlignerRegion::load(choice_, devices_); }),
      speaker([this] { return SpeakerRegion::load(choice_); }),
      drafter([this] { return DrafterRegion::load(choice_); }) {}

Result<void> Regions::acquire(Region region) {
  return visit(*this, region, [](auto& slot) -> Result<void> {
    PARLANCE_CHECK(slot.acquire());
    return {};
  });
}

Result<void> Regions::acquire(std::span<const Region> regions) {
  std::vector<std::future<Result<void>>> loads;
  for (const Region region : regions) {
    loads.push_back(
        std::async(std::launch::async | std::launch::deferred, [this, region] { return acquire(region); }));
  }
  Result<void> all;
  for (auto& load : loads) {
    Result<void> one = load.get();
    if (all) all = std::move(one);
  }
  return all;
}

void Regions::evict(Region region) {
  visit(*this, region, [](auto& slot) { slot.evict(); });
}

std::optional<RegionBytes> Regions::bytes(Region region) const {
  return visit(*this, region, [](const auto& slot) -> std::optional<RegionBytes> {
    const auto acquired = slot.acquired();
    return acquired ? std::optional(acquired->bytes()) : std::nullopt;
  });
}

}  // namespace parlance
