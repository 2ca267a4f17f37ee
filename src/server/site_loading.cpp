#include "server/site_loading.h"

#include <algorithm>
#include <filesystem>

#include "asr/languages.h"
#include "assistant/default_model.h"
#include "assistant/model_files.h"
#include "assistant/wording.h"
#include "base/ascii.h"
#include "base/log.h"
#include "base/os/environment.h"
#include "base/os/folder.h"
#include "base/os/process.h"
#include "bundle/bundle.h"
#include "bundle/sha256.h"
#include "kernels/cpu/cpu_device.h"
#include "realtime/model_parts.h"
#include "server/chat_tools.h"
#include "server/prewarm.h"
#include "server/voices.h"
#include "wyoming/services.h"

namespace parlance {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kMostNameBytes = 64;
constexpr std::chrono::milliseconds kTick{1000};

std::string plain_name(std::string name) {
  for (char& c : name) {
    if (!ascii::is_letter(c) && !ascii::is_digit(c) && c != '.' && c != '_' && c != '-') c = '-';
  }
  name.resize(std::min(name.size(), kMostNameBytes - std::string_view("-embedding").size()));
  return name.empty() ? "model" : name;
}

// What the models are called where nobody says: as their bundle, else as the file.
std::string name_of_models(const ModelFiles& files, const fs::path& text_file) {
  const fs::path folder =
      files.folder.empty() && files.text.empty() ? find_demo_bundle() : fs::path(files.folder);
  if (is_folder(folder)) {
    const auto bundle = open_bundle(folder, {});
    if (bundle && !bundle->id.empty()) return plain_name(bundle->id);
  }
  return plain_name(text_file.stem().string());
}

int64_t written_unix_s(const fs::path& file) {
  std::error_code error;
  const auto time = fs::last_write_time(file, error);
  if (error) return 0;
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::file_clock::to_sys(time).time_since_epoch())
      .count();
}

// Of program, weights and cache: who sees the same may expect the same.
std::string fingerprint_of(const Site& site) {
  const SnapshotIdentity identity = site.text->context()->snapshot_identity();
  std::string all = site.version + "\n" + identity.layout + "\n";
  for (const std::byte byte : identity.model) all += fmt::format("{:02x}", static_cast<int>(byte));
  return "fp_" + sha256(std::as_bytes(std::span(all))).substr(0, 12);
}

// Where conversations of this model and these formats are put away; empty: nowhere.
fs::path conversation_folder(const Site& site, const fs::path& text_file) {
  const ConversationRules& rules = site.options.conversations;
  if (!rules.slot_folder.empty()) return rules.slot_folder;
  if (rules.state_folder.empty()) return {};
  const SessionOptions& options = site.text->context()->options();
  const bool has_drafter = options.drafter || options.draft_model;
  const std::string name =
      folder_name({.model = absolute_path(text_file).string(),
                   .drafter = has_drafter ? site.options.models.files.drafter : "",
                   .k_format = std::string(name_of(options.cache.k.format)),
                   .v_format = std::string(name_of(options.cache.v.format)),
                   .extra = fmt::format("ctx={};parallel={};kv=default;drafter={}", options.n_ctx,
                                        options.n_seq, has_drafter ? "on" : "off")});
  return rules.state_folder / "local-inference" / "llama-cache" / name;
}

WyomingOffer wyoming_offer(const Site& site) {
  WyomingOffer offer;
  offer.voices = offered_voices(site);
  const auto preferred = std::ranges::find(offer.voices, site.options.voice);
  if (preferred != offer.voices.end()) std::rotate(offer.voices.begin(), preferred, preferred + 1);
  offer.languages = site.options.wyoming_languages;
  offer.version = site.version;
  for (const ModelOffer& model : site.offers) {
    if (model.kind == ModelKind::text) offer.text_model = model.id;
    if (model.kind == ModelKind::asr) offer.asr_model = model.id;
    if (model.kind == ModelKind::tts) offer.tts_model = model.id;
  }
  if (offer.languages.empty()) {
    for (const SpeechLanguage& language : speech_languages()) offer.languages.emplace_back(language.code);
  }
  return offer;
}

}  // namespace

SiteLoading::SiteLoading(Site& site) : site_(site) {
  loader_ = std::thread([this] { run_loader(); });
  clock_ = std::thread([this] { run_clock(); });
}

Result<void> SiteLoading::wait_until_ready() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [&] { return loaded_.has_value(); });
  return *loaded_;
}

void SiteLoading::drain() {
  const std::lock_guard lock(mutex_);
  if (wyoming_) wyoming_->drain();
}

void SiteLoading::end() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  news_.notify_all();
  if (loader_.joinable()) loader_.join();
  if (clock_.joinable()) clock_.join();
}

Result<void> SiteLoading::load() {
  PARLANCE_TRY(site_.text, site_.regions.text.acquire());
  const ModelFiles& files = site_.options.models.files;
  PARLANCE_TRY(const fs::path text_file, find_text_file(files));
  const std::string base = site_.options.name.empty() ? name_of_models(files, text_file) : site_.options.name;
  site_.offers = {{base, ModelKind::text}};
  if (find_asr_files(files)) site_.offers.push_back({base + "-asr", ModelKind::asr});
  if (find_tts_files(files)) site_.offers.push_back({base + "-tts", ModelKind::tts});
  if (find_embedding_file(files)) site_.offers.push_back({base + "-embedding", ModelKind::embedding});
  site_.created_unix_s = written_unix_s(text_file);
  site_.fingerprint = fingerprint_of(site_);
  site_.tool_family = tool_family_of(site_.text->model());
  site_.metrics.set("build_info", 1,
                    {{"version", site_.version}, {"model", base}, {"device", site_.text->device().name()}});
  Scheduler& scheduler = site_.text->context()->scheduler();
  scheduler.watch(
      [&metrics = site_.metrics, n_steps = 0.0, n_sequences = 0.0](const StepReport& step) mutable {
        metrics.observe("step_seconds", step.ms / 1000, {{"kind", "text"}});
        metrics.observe("batch_rows", static_cast<double>(step.n_rows));
        metrics.add("llamacpp:n_decode_total");
        n_sequences += static_cast<double>(step.n_sequences);
        metrics.set("llamacpp:n_busy_slots_per_decode", n_sequences / ++n_steps);
      });
  scheduler.start();
  tell_start();
  site_.conversations =
      std::make_unique<Conversations>(site_.text->context(), conversation_folder(site_, text_file),
                                      site_.options.conversations, site_.metrics, site_.log);
  return {};
}

// What there is, and on what, for the log.
void SiteLoading::tell_start() {
  std::string models;
  for (const ModelOffer& offer : site_.offers) models += (models.empty() ? "" : ",") + offer.id;
  const KvPolicy& cache = site_.text->context()->options().cache;
  const ListenerOptions& listener = site_.options.listener;
  const Listener* const open = site_.listener;
  const auto isa = choose_isa();
  site_.log.write(LogLevel::info, "start",
                  {{"version", site_.version},
                   {"host", listener.host},
                   {"port", int64_t{open ? open->port() : listener.port}},
                   {"wyoming", site_.options.wyoming ? site_.options.wyoming->host : std::string()},
                   {"models", models},
                   {"device", std::string(site_.text->device().name())},
                   {"kv", fmt::format("{}/{}", name_of(cache.k.format), name_of(cache.v.format))},
                   {"kernels", isa ? std::string(name_of(*isa)) : std::string()}});
}

// Listens for the Wyoming protocol too, where that is wanted.
Result<void> SiteLoading::open_wyoming() {
  if (!site_.options.wyoming) return {};
  WyomingSetup setup{
      .offer = wyoming_offer(site_),
      .system = site_.options.wyoming_system.empty() ? site_.options.system : site_.options.wyoming_system,
      .generate = site_.options.defaults};
  const std::lock_guard lock(mutex_);
  wyoming_services_ = wyoming_services(site_.regions, std::move(setup));
  PARLANCE_TRY(
      wyoming_,
      WyomingDoor::open(*site_.options.wyoming, wyoming_services_, [&site = site_](std::string_view type) {
        site.metrics.add("wyoming_events_total", 1, {{"type", type}});
        site.log.write(type == "audio-chunk" || type == "synthesize-chunk" ? LogLevel::debug : LogLevel::info,
                       "wyoming", {{"type", std::string(type)}});
      }));
  site_.wyoming = wyoming_.get();
  return {};
}

void SiteLoading::make_mouth_ready() {
  const auto mouth = site_.regions.tts.acquire();
  if (!mouth) return;
  const auto known = remember_phrases(*mouth, site_.options.voice);
  if (!known && known.error().code != ErrorCode::not_found)
    log_warning("phrases of the voice {}: {}", site_.options.voice, known.error().message);
}

void SiteLoading::run_loader() {
  auto result = load();
  if (result) result = open_wyoming();
  if (result) {
    site_.is_loaded = true;
    ServerPhase expected = ServerPhase::loading;
    site_.phase.compare_exchange_strong(expected, ServerPhase::serving);
    warm_system_prefix(site_);
  }
  {
    const std::lock_guard lock(mutex_);
    loaded_ = std::move(result);
  }
  news_.notify_all();
  // What hears and speaks is made ready while nobody waits for it. Who asks meanwhile waits with it, and is
  // told what is wrong.
  if (*loaded_) {
    for (const ModelOffer& offer : site_.offers) {
      if (offer.kind == ModelKind::asr) (void)site_.regions.asr.acquire();
      if (offer.kind == ModelKind::tts) make_mouth_ready();
      if (offer.kind == ModelKind::embedding) (void)site_.regions.embedding.acquire();
    }
  }
}

void SiteLoading::run_clock() {
  std::unique_lock lock(mutex_);
  while (!news_.wait_for(lock, kTick, [&] { return is_over_; })) {
    lock.unlock();
    site_.tick_all();
    if (site_.is_loaded) {
      site_.conversations->tick(Clock::now(),
                                [&site = site_](const Conversations::Open& one) { warm_again(site, one); });
      const SchedulerStats stats = site_.text->context()->scheduler().stats();
      site_.pulse.note(stats.n_tasks > 0, stats.n_steps, process_use().cpu_seconds);
    }
    lock.lock();
  }
}

}  // namespace parlance
