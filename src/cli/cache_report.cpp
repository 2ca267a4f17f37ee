#include "cli/cache_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "assistant/cache_settling.h"
#include "cli/terminal/table.h"
#include "kv/cache_choice.h"

namespace parlance {

namespace {

// A way of keeping keys and values, and what is expected of it.
struct ExpectedCache {
  std::string options;
  KvLayout layout;
  double nats = 0;
};

ExpectedCache expected(const TextModel& model, const CacheProbe& probe, std::string options,
                       KvPolicy policy) {
  SessionOptions session{.cache = std::move(policy)};
  session.cache = settled(probe, model, session);
  const KvLayout layout = kv_layout(model.hyper_parameters(), session);
  return {std::move(options), layout,
          predicted_divergence(probe, layout, session.cache.equaliser != nullptr)};
}

// Presets, then the formats that were tried, equalised and as they are.
std::vector<ExpectedCache> expected_caches(const TextModel& model, const CacheProbe& probe) {
  std::vector<ExpectedCache> all;
  for (const char* preset : {"balanced", "small", "auto"})
    all.push_back(expected(model, probe, fmt::format("--cache {}", preset), *cache_preset(preset)));
  for (const KvFormat format : probe.formats) {
    KvPolicy policy{.k = {.format = format}, .v = {.format = format}};
    const std::string options = fmt::format("-ctk {0} -ctv {0}", name_of(format));
    all.push_back(expected(model, probe, options, policy));
    policy.equalises = false;
    all.push_back(expected(model, probe, options + " --cache-equalise off", policy));
  }
  return all;
}

// "0-3 tbq4_0/tbq3_0, 4 q8_0/tbq4_0": layers with the same formats of keys and values together.
std::string formats_by_layer(const KvLayout& layout) {
  std::string text;
  for (int64_t first = 0; first < layout.n_layer;) {
    const LayerCoding coding = layout.coding(first);
    int64_t last = first;
    while (last + 1 < layout.n_layer && layout.coding(last + 1) == coding) ++last;
    text += fmt::format("{}{}{} {}/{}", text.empty() ? "" : ", ", first,
                        last > first ? fmt::format("-{}", last) : "", name_of(coding.k.format),
                        name_of(coding.v.format));
    first = last + 1;
  }
  return text;
}

std::string exact_ends(const KvPolicy& policy) {
  std::vector<std::string> ends;
  if (policy.n_sink > 0) ends.push_back(fmt::format("first {}", policy.n_sink));
  if (policy.n_recent > 0) ends.push_back(fmt::format("last {}", policy.n_recent));
  return fmt::format("{}", fmt::join(ends, ", "));
}

// The heads of a layer together: errors of outputs add up, of those of scores the worst counts.
HeadLoss together(std::span<const HeadLoss> heads) {
  HeadLoss all;
  for (const HeadLoss& head : heads) {
    all.scores = std::max(all.scores, head.scores);
    all.from_keys += head.from_keys;
    all.from_values += head.from_values;
    all.from_later_keys += head.from_later_keys;
    all.from_later_values += head.from_later_values;
  }
  return all;
}

// Of the errors that keys and values bring in.
std::string share_of_first(const HeadLoss& loss) {
  const float all = loss.from_keys + loss.from_values, later = loss.from_later_keys + loss.from_later_values;
  return fmt::format("{:.0f} %", all > later ? 100 * (1 - later / all) : 0);
}

std::string share(float loss) {
  return fmt::format("{:.3g} %", std::sqrt(loss) * 100);
}

std::string_view harm(double nats) {
  if (nats < kHarmsModel) return "";
  return nats < kBreaksModel ? ", harms the model" : ", breaks the model";
}

}  // namespace

void print_chosen_caches(const Console& io, const TextModel& model, const CacheProbe& probe) {
  Table table({{"options", Table::Align::left},
               {"bits"},
               {"expected KL"},
               {"kept exact", Table::Align::left},
               {"keys/values of layers", Table::Align::left}});
  for (const ExpectedCache& cache : expected_caches(model, probe)) {
    table.add({cache.options, fmt::format("{:.2f}", bits_per_value(cache.layout)),
               fmt::format("{:.2g}{}", cache.nats, harm(cache.nats)), exact_ends(cache.layout.policy),
               formats_by_layer(cache.layout)});
  }
  io.print("{}", table.text(io));
}

void print_format_losses(const Console& io, const CacheProbe& probe, bool by_head) {
  Table table({{"layer"},
               {"head"},
               {"first keys"},
               {"of them"},
               {"format", Table::Align::left},
               {"scores"},
               {"from keys"},
               {"not equalised"},
               {"from values"}});
  for (int64_t layer = 0; layer < probe.n_layer; ++layer) {
    for (size_t f = 0; f < probe.formats.size(); ++f) {
      const auto plain = probe.losses(probe.formats[f], layer, false);
      const auto equalised = probe.losses(probe.formats[f], layer, true);
      const auto add = [&](const std::string& head, const HeadLoss& a, const HeadLoss& b, bool is_first) {
        table.add({is_first ? fmt::format("{}", layer) : "", head,
                   is_first ? fmt::format("x {:.1f}", probe.first_keys[static_cast<size_t>(layer)]) : "",
                   share_of_first(b), std::string(name_of(probe.formats[f])), fmt::format("{:.3g}", b.scores),
                   share(b.from_keys), share(a.from_keys), share(b.from_values)});
      };
      if (!by_head) {
        add("all", together(plain), together(equalised), f == 0);
        continue;
      }
      for (size_t head = 0; head < plain.size(); ++head)
        add(fmt::format("{}", head), plain[head], equalised[head], f == 0 && head == 0);
    }
  }
  io.print("{}", table.text(io));
}

Json to_json(const TextModel& model, const CacheProbe& probe) {
  Json caches = Json::array();
  for (const ExpectedCache& cache : expected_caches(model, probe)) {
    Json layers = Json::array();
    for (int64_t layer = 0; layer < cache.layout.n_layer; ++layer) {
      const LayerCoding coding = cache.layout.coding(layer);
      layers.push(Json::object({{"k", name_of(coding.k.format)}, {"v", name_of(coding.v.format)}}));
    }
    caches.push(Json::object({{"options", cache.options},
                              {"bits_per_value", bits_per_value(cache.layout)},
                              {"expected_kl", cache.nats},
                              {"harms_model", !(cache.nats < kHarmsModel)},
                              {"breaks_model", !(cache.nats < kBreaksModel)},
                              {"exact_first", cache.layout.policy.n_sink},
                              {"exact_last", cache.layout.policy.n_recent},
                              {"layers", layers}}));
  }
  Json losses = Json::array();
  for (int64_t layer = 0; layer < probe.n_layer; ++layer) {
    for (const KvFormat format : probe.formats) {
      const auto plain = probe.losses(format, layer, false), equalised = probe.losses(format, layer, true);
      for (size_t head = 0; head < plain.size(); ++head) {
        losses.push(Json::object({{"layer", layer},
                                  {"head", head},
                                  {"format", name_of(format)},
                                  {"scores", equalised[head].scores},
                                  {"from_keys", equalised[head].from_keys},
                                  {"from_values", equalised[head].from_values},
                                  {"from_later_keys", equalised[head].from_later_keys},
                                  {"from_later_values", equalised[head].from_later_values},
                                  {"scores_not_equalised", plain[head].scores},
                                  {"from_keys_not_equalised", plain[head].from_keys}}));
      }
    }
  }
  Json first = Json::array();
  for (const float length : probe.first_keys) first.push(length);
  return Json::object({{"caches", caches}, {"first_keys", first}, {"losses", losses}});
}

}  // namespace parlance
