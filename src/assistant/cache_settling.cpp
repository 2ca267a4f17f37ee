#include "assistant/cache_settling.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "assistant/cache_folder.h"
#include "assistant/conversation.h"
#include "base/os/file.h"
#include "base/parameter.h"
#include "engine/probe_cache.h"
#include "kv/cache_choice.h"

namespace parlance {

namespace {

namespace fs = std::filesystem;

// Where it cannot be kept, the next start probes again.
void keep(const CacheProbe& probe, const TextModel& model) {
  const auto path = probe_path(model);
  if (!path) return;
  std::error_code error;
  fs::create_directories(path->parent_path(), error);
  if (auto file = AtomicFile::create(*path); file && file->write(bytes_of(probe, hash_of(model.file()))))
    (void)file->commit();
}

// The compressed formats of a policy.
std::vector<KvFormat> formats_of(const KvPolicy& policy) {
  std::vector<KvFormat> formats;
  const auto add = [&](KvFormat format) {
    if (format >= KvFormat::q8_0 && std::ranges::find(formats, format) == formats.end())
      formats.push_back(format);
  };
  if (policy.goal) return formats;
  for (const KvFormat format : {policy.k.format, policy.v.format}) add(format);
  for (const KvPolicy::Override& o : policy.layers) {
    add(o.k);
    add(o.v);
  }
  return formats;
}

// The smallest of the usual formats that keys and values can both have, if there is one.
std::optional<KvFormat> format_without_harm(const CacheProbe& probe, KvLayout layout) {
  layout.policy.layers.clear();
  std::optional<KvFormat> smallest;
  for (const KvFormat format : usual_cache_formats()) {
    layout.policy.k.format = layout.policy.v.format = format;
    if (!(predicted_divergence(probe, layout, layout.policy.equaliser != nullptr) < kHarmsModel)) continue;
    if (!smallest || kv_row_bytes(format, layout.head_dim_k) < kv_row_bytes(*smallest, layout.head_dim_k))
      smallest = format;
  }
  return smallest;
}

// What helps: exact first positions alone, where that suffices; a preset; the smallest format that does no
// harm, which every door has a name for.
std::string remedy(const CacheProbe& probe, KvLayout layout) {
  constexpr int64_t kSinks = 64;
  std::string remedies = set_to(Parameter::cache, "balanced");
  if (const auto format = format_without_harm(probe, layout))
    remedies += fmt::format(", or {} for keys and values", name_of(*format));
  if (layout.policy.n_sink > 0) return remedies;
  layout.policy.n_sink = kSinks;
  if (!(predicted_divergence(probe, layout, layout.policy.equaliser != nullptr) < kHarmsModel))
    return remedies;
  return fmt::format("{}, {}", set_to(Parameter::cache_sink, kSinks), remedies);
}

std::string why_harmed(const CacheProbe& probe, const KvLayout& layout, bool was_chosen, double nats) {
  const KvPolicy& policy = layout.policy;
  const std::string off = nats < 100 ? fmt::format("about {:.2g} nats", nats) : "any number of nats";
  if (was_chosen) {
    return fmt::format("no choice of formats within {} keeps this model whole (predictions {} off); use {}",
                       Parameter::cache, off, set_to(Parameter::cache, "exact"));
  }
  return fmt::format("{} with {} {} this model, by what a probe of it says (predictions {} off); use {}",
                     set_to(Parameter::cache_type_k, name_of(policy.k.format)),
                     set_to(Parameter::cache_type_v, name_of(policy.v.format)),
                     nats < kBreaksModel ? "harms" : "breaks", off, remedy(probe, layout));
}

// The probe's text as a question to the model, or as it is to one that has no form for chats.
std::vector<Token> probe_prompt(const TextModel& model) {
  auto chat = prompt_tokens(model, {{"user", std::string(probe_text())}}, /*has_thinking=*/false);
  return chat ? *std::move(chat) : model.tokenizer().encode(probe_text(), {.add_special = true});
}

}  // namespace

std::optional<fs::path> probe_path(const TextModel& model) {
  const auto folder = cache_folder();
  if (!folder) return std::nullopt;
  std::string name = "cache-formats-";
  for (const std::byte byte : hash_of(model.file())) name += fmt::format("{:02x}", static_cast<int>(byte));
  return *folder / name;
}

std::optional<CacheProbe> known_probe(const TextModel& model) {
  const auto path = probe_path(model);
  if (!path) return std::nullopt;
  const auto file = ReadableFile::open(*path);
  if (!file) return std::nullopt;
  std::vector<std::byte> bytes(file->size());
  if (!file->read(0, bytes)) return std::nullopt;
  auto probe = parse_probe(bytes, path->string(), hash_of(model.file()));
  if (!probe) return std::nullopt;
  const HyperParameters& hp = model.hyper_parameters();
  const bool fits = probe->n_layer == hp.n_layers_of(LayerKind::attention) &&
                    probe->n_head_kv == hp.n_head_kv && probe->head_dim_k == hp.head_dim_k;
  return fits ? std::optional(*std::move(probe)) : std::nullopt;
}

Result<CacheProbe> probe_of(const TextModel& model, std::span<const KvFormat> formats,
                            const Cancellation& cancellation) {
  std::vector<KvFormat> all(formats.begin(), formats.end());
  if (auto known = known_probe(model)) {
    const auto is_known = [&](KvFormat format) { return known->tried(format); };
    if (std::ranges::all_of(formats, is_known)) return *std::move(known);
    all.insert(all.end(), known->formats.begin(), known->formats.end());
  }
  PARLANCE_TRY(CacheProbe probe,
               probe_cache(model, probe_tokens(model, probe_prompt(model)), all, cancellation));
  keep(probe, model);
  return probe;
}

KvPolicy settled(const CacheProbe& probe, const TextModel& model, const SessionOptions& options) {
  if (!options.cache.compresses() && !options.cache.goal) return options.cache;
  const bool equalises = options.cache.equalises && can_equalise(model.model().placement());
  const KvLayout layout = kv_layout(model.hyper_parameters(), options);
  KvPolicy policy = options.cache.goal ? choose_formats(probe, layout, equalises) : options.cache;
  if (equalises) policy.equaliser = std::make_shared<const KvEqualiser>(probe.equaliser);
  return policy;
}

void settle_cache(const TextModel& model, SessionOptions& options, const OnRemark& on_remark) {
  KvPolicy& policy = options.cache;
  // What does not fit the model is an error of its own, when memory is asked for.
  if ((!policy.compresses() && !policy.goal) || !validate(kv_layout(model.hyper_parameters(), options)))
    return;
  const auto remark = [&](const std::string& text) {
    if (on_remark) on_remark(text);
  };
  const auto probe = probe_of(model, formats_of(policy));
  if (!probe) {
    return remark(
        fmt::format("what compressing the cache does to this model is not known: {}", probe.error().message));
  }
  const bool was_chosen = policy.goal.has_value();
  policy = settled(*probe, model, options);
  const KvLayout layout = kv_layout(model.hyper_parameters(), options);
  const double nats = predicted_divergence(*probe, layout, policy.equaliser != nullptr);
  if (!(nats < kHarmsModel)) remark(why_harmed(*probe, layout, was_chosen, nats));
}

}  // namespace parlance
