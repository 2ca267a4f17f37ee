#include "capi/context.h"

#include <array>
#include <utility>

#include "assistant/model_files.h"
#include "base/log.h"
#include "base/os/folder.h"
#include "bundle/bundle.h"
#include "bundle/bundle_files.h"
#include "capi/llm.h"
#include "capi/profile.h"

namespace parlance::capi {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// Conversations that may be open at once, with a place for texts that are only measured.
constexpr int kSequences = 5;

constexpr std::string_view kRegionNames = "tts, asr, text, dflash, mtp, vad, wakeword";
constexpr std::string_view kWakeword = "wakeword";

// A library's host decides where its lines go (ov_log_set()); until then nobody has asked for any.
[[maybe_unused]] const bool kIsQuiet = (set_log_level(LogLevel::off), true);

struct RegionName {
  std::string_view name;
  Region region;
};
constexpr std::array<RegionName, 6> kRegionsByName = {{{"tts", Region::tts},
                                                       {"asr", Region::asr},
                                                       {"text", Region::text},
                                                       {"dflash", Region::drafter},
                                                       {"mtp", Region::drafter},
                                                       {"vad", Region::vad}}};

// None: the region that is always empty.
Answer<std::optional<Region>> region_of(std::string_view name) {
  if (name == kWakeword) return std::optional<Region>();
  for (const RegionName& known : kRegionsByName) {
    if (known.name == name) return std::optional(known.region);
  }
  return refuse(ELIZA_ERR_INVALID_ARG, "region_name is '{}'; it is one of {}", name, kRegionNames);
}

Answer<std::string> region_name_of(const char* region_name) {
  CAPI_CHECK(check_not_null("region_name", region_name));
  return optional_text_of("region_name", region_name);
}

bool has_manifest(const fs::path& folder) {
  return !bundle_with_manifest(folder).empty();
}

// The first file of a folder whose name begins with the word.
fs::path first_named(const fs::path& folder, std::string_view beginning) {
  for (const fs::path& file : files_in(folder).value_or(std::vector<fs::path>())) {
    if (file.filename().string().starts_with(beginning) && file.extension() == ".gguf") return file;
  }
  return {};
}

constexpr std::string_view kCanonicalBase = "omnivoice-base", kCanonicalCodec = "omnivoice-tokenizer";

Choice choice_of(const fs::path& folder, const Knobs& knobs) {
  Choice choice;
  choice.files.folder = folder.string();
  const fs::path base = first_named(folder / "tts", kCanonicalBase);
  const fs::path codec = first_named(folder / "tts", kCanonicalCodec);
  if (!has_manifest(folder) && !base.empty() && !codec.empty()) {
    choice.files.base = base.string();
    choice.files.codec = codec.string();
  }
  knobs.apply(choice);
  choice.context.n_seq = kSequences;
  return choice;
}

template <class T>
Answer<std::shared_ptr<T>> loaded(RegionSlot<T>& slot) {
  auto region = slot.acquire();
  if (region) return *std::move(region);
  return tl::unexpected<Refusal>(bundle_refusal(std::move(region).error()));
}

template <class T>
Answer<std::shared_ptr<T>> acquired(const RegionSlot<T>& slot, std::string_view name) {
  if (auto region = slot.acquired()) return region;
  return refuse(ELIZA_ERR_INVALID_ARG,
                "the region {} is not acquired; call eliza_inference_mmap_acquire(ctx, \"{}\", …) first",
                name, name);
}

}  // namespace

EarlyCancellation::Work::Work(EarlyCancellation& owner) : owner_(owner), ticket_(owner.source_.ticket()) {
  const std::lock_guard lock(owner_.mutex_);
  ++owner_.n_at_work_;
  const auto early = std::exchange(owner_.early_, std::nullopt);
  if (!early || Clock::now() - *early > kSoon) return;
  const CancellationSource cancelled;
  ticket_ = cancelled.ticket();
  cancelled.cancel();
}

EarlyCancellation::Work::~Work() {
  const std::lock_guard lock(owner_.mutex_);
  --owner_.n_at_work_;
}

void EarlyCancellation::cancel() {
  const std::lock_guard lock(mutex_);
  source_.cancel();
  if (n_at_work_ == 0) early_ = Clock::now();
}

Answer<std::shared_ptr<BundleContext>> BundleContext::create(const fs::path& folder) {
  if (folder.empty())
    return refuse(ELIZA_ERR_INVALID_ARG, "bundle_dir is required: name the bundle's folder");
  if (!is_folder(folder)) {
    return refuse(ELIZA_ERR_BUNDLE_INVALID, "bundle_dir does not exist, or is no folder: {}",
                  folder.string());
  }
  const fs::path with_manifest = bundle_with_manifest(folder);
  if (!with_manifest.empty()) CAPI_CHECK(read_manifest(with_manifest));
  CAPI_TRY(Knobs knobs, read_knobs());
  Choice choice = choice_of(folder, knobs);
  return std::make_shared<BundleContext>(std::move(choice), std::move(knobs));
}

// Profile 3 takes no pair of files for the speech model only because there is no other.
Answer<void> BundleContext::check_speech_files() const {
  const ModelFiles& files = regions_.choice().files;
  if (!profile().wants_canonical_speech_files || !files.base.empty() || has_manifest(files.folder)) return {};
  return refuse(
      ELIZA_ERR_BUNDLE_INVALID,
      "{}/tts: there is no {}*.gguf with {}*.gguf, and no manifest that gives the speech model's files "
      "other names",
      files.folder, kCanonicalBase, kCanonicalCodec);
}

Answer<void> BundleContext::acquire(std::string_view name) {
  CAPI_TRY(const std::optional<Region> region, region_of(name));
  if (!region) return {};
  if (*region == Region::tts) CAPI_CHECK(check_speech_files());
  if (*region == Region::drafter) {
    const auto own = find_own_drafter(regions_.choice().files);
    if (own && own->empty()) return {};
  }
  if (auto done = regions_.acquire(*region); !done)
    return tl::unexpected<Refusal>(bundle_refusal(std::move(done).error()));
  return {};
}

Answer<void> BundleContext::evict(std::string_view name) {
  CAPI_TRY(const std::optional<Region> region, region_of(name));
  if (!region) return {};
  regions_.evict(*region);
  const std::lock_guard lock(mutex_);
  if (*region == Region::tts) unheard_.reset();
  if (*region == Region::text) placed_.clear();
  return {};
}

Answer<std::shared_ptr<AsrRegion>> BundleContext::asr() const {
  return acquired(regions_.asr, "asr");
}

Answer<std::shared_ptr<TtsRegion>> BundleContext::tts() const {
  return acquired(regions_.tts, "tts");
}

Answer<std::shared_ptr<TextRegion>> BundleContext::text(const TextPlacement& placement) {
  if (placement.key() == TextPlacement().key()) return loaded(regions_.text);
  std::unique_lock lock(mutex_);
  std::unique_ptr<Regions>& place = placed_[placement];
  if (!place) {
    Choice choice = regions_.choice();
    choice.files.drafter = placement.drafter;
    choice.devices.n_gpu_layers = placement.n_gpu_layers;
    choice.context.cache.k.format = placement.k;
    choice.context.cache.v.format = placement.v;
    place = std::make_unique<Regions>(std::move(choice));
  }
  return loaded(place->text);
}

Answer<std::shared_ptr<VadRegion>> BundleContext::vad() {
  return loaded(regions_.vad);
}

Answer<std::shared_ptr<AlignerRegion>> BundleContext::aligner() {
  return loaded(regions_.aligner);
}

Answer<std::shared_ptr<SpeakerRegion>> BundleContext::speaker(const std::string& file) {
  if (file.empty()) return loaded(regions_.speaker);
  Choice choice = regions_.choice();
  choice.files.speaker = file;
  auto region = SpeakerRegion::load(choice);
  if (region) return *std::move(region);
  return tl::unexpected<Refusal>(bundle_refusal(std::move(region).error()));
}

Answer<std::shared_ptr<const Tokenizer>> BundleContext::vocabulary() {
  const std::lock_guard lock(mutex_);
  if (vocabulary_) return vocabulary_;
  const auto load = [&]() -> Result<std::shared_ptr<const Tokenizer>> {
    PARLANCE_TRY(const fs::path path, find_text_file(regions_.choice().files));
    PARLANCE_TRY(const GgufFile file, GgufFile::open(path));
    PARLANCE_TRY(Tokenizer tokenizer, Tokenizer::load(file));
    return std::make_shared<const Tokenizer>(std::move(tokenizer));
  };
  auto tokenizer = load();
  if (!tokenizer) return tl::unexpected<Refusal>(bundle_refusal(std::move(tokenizer).error()));
  return vocabulary_ = *std::move(tokenizer);
}

void BundleContext::set_listener(VerifierListener listener) {
  const std::lock_guard lock(mutex_);
  listener_ = listener;
}

VerifierListener BundleContext::listener() const {
  const std::lock_guard lock(mutex_);
  return listener_;
}

std::optional<std::vector<float>> BundleContext::take_unheard(std::string_view text, std::string_view voice) {
  const std::lock_guard lock(mutex_);
  if (!unheard_ || unheard_->text != text || unheard_->voice != voice) return std::nullopt;
  return std::exchange(unheard_, std::nullopt)->samples;
}

void BundleContext::keep_unheard(UnheardSpeech speech) {
  const std::lock_guard lock(mutex_);
  unheard_ = std::move(speech);
}

}  // namespace parlance::capi

using namespace parlance::capi;

EliInferenceContext* eliza_inference_create(const char* bundle_dir, char** out_error) {
  return handle_with<EliInferenceContext>(out_error, [&]() -> Answer<void*> {
    CAPI_TRY(auto context, BundleContext::create(bundle_dir ? bundle_dir : ""));
    return handles().add(std::move(context));
  });
}

void eliza_inference_destroy(EliInferenceContext* ctx) {
  quietly([&] {
    const auto context = handles().remove<BundleContext>(ctx);
    if (!context) return;
    context->speech_cancellation().cancel();
    for (const Handles::Opened& opened : handles().remove_all_of(ctx)) {
      if (opened.kind == HandleKind::llm_stream) std::static_pointer_cast<LlmStream>(opened.object)->cancel();
    }
  });
}

int eliza_inference_mmap_acquire(EliInferenceContext* ctx, const char* region_name, char** out_error) {
  return answer_with(out_error, [&]() -> Answer<int> {
    CAPI_TRY(const auto context, context_of(ctx));
    CAPI_TRY(const std::string name, region_name_of(region_name));
    CAPI_CHECK(context->acquire(name));
    return ELIZA_OK;
  });
}

int eliza_inference_mmap_evict(EliInferenceContext* ctx, const char* region_name, char** out_error) {
  return answer_with(out_error, [&]() -> Answer<int> {
    CAPI_TRY(const auto context, context_of(ctx));
    CAPI_TRY(const std::string name, region_name_of(region_name));
    CAPI_CHECK(context->evict(name));
    return ELIZA_OK;
  });
}
