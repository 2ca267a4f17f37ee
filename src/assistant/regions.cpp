#include "assistant/regions.h"

#include <future>
#include <vector>

#include "assistant/model_files.h"
#include "base/log.h"
#include "models/pooling.h"

namespace parlance {

namespace {

constexpr int kEmbeddedAtOnce = 8;  // texts

// One at a time, as several regions may load at once. Who wants no remarks gets them all the same, where the
// program's messages go.
OnRemark one_at_a_time(OnRemark on_remark) {
  if (!on_remark) return [](const std::string& remark) { log_line(LogLevel::warning, remark); };
  return
      [on_remark = std::move(on_remark), saying = std::make_shared<std::mutex>()](const std::string& remark) {
        const std::lock_guard lock(*saying);
        on_remark(remark);
      };
}

// The choice with the embedding model in place of the language model. Texts have the cache of two long ones,
// which most never fill.
Result<Choice> embedding_choice(const Choice& choice) {
  Choice own = choice;
  PARLANCE_TRY(const std::filesystem::path file, find_embedding_file(choice.files));
  own.files = {.text = file.string()};
  own.draft = {.uses_model = false};
  PARLANCE_TRY(const GgufFile weights, GgufFile::open(file));
  PARLANCE_TRY(const HyperParameters hp, read_hyper_parameters(weights));
  own.context = {.cache = choice.context.cache, .n_seq = kEmbeddedAtOnce};
  own.n_ctx = std::min(own.context.n_ctx, hp.n_ctx_train);
  own.context.n_cache = 2 * *own.n_ctx;
  own.n_batch = own.context.n_batch;
  if (n_pooled_rows(hp.pooling, own.context.n_batch) > 1) own.context.n_outputs = own.context.n_batch;
  return own;
}

}  // namespace

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
      on_remark_(one_at_a_time(std::move(on_remark))),
      devices_(choice_.devices.n_threads, choice_.devices.is_deterministic),
      text([this] { return TextRegion::load(choice_, devices_, on_remark_); }),
      asr([this] { return AsrRegion::load(choice_, devices_, on_remark_); }),
      tts([this] { return TtsRegion::load(choice_, devices_); }),
      vad([this] { return VadRegion::load(choice_); }),
      aligner([this] { return AlignerRegion::load(choice_, devices_); }),
      speaker([this] { return SpeakerRegion::load(choice_); }),
      drafter([this] { return DrafterRegion::load(choice_); }),
      embedding([this]() -> Result<std::shared_ptr<TextRegion>> {
        PARLANCE_TRY(const Choice choice, embedding_choice(choice_));
        return TextRegion::load(choice, devices_, on_remark_);
      }) {}

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
