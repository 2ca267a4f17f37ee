#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <map>
#include <variant>
#include <vector>

namespace parlance {

namespace {

namespace pm = prometheus;

enum class MetricKind { counter, gauge, seconds, short_seconds, factor, count };

struct MetricRow {
  const char* name;
  MetricKind kind;
  const char* help;
  // The values of its labels that are there from the start, each with each:
  // "op=save|restore,result=ok|error"; empty: it has no label.
  const char* values = "";
};

constexpr std::string_view kLater = "?";  // labels are known only when something happens

using enum MetricKind;

constexpr const char* kClasses = "class=voice|interactive|background";

constexpr std::array kMetricTable = {
    MetricRow{"build_info", gauge, "1, with what this is as labels", "?"},
    MetricRow{"http_requests_total", counter, "Requests by route, method and status", "?"},
    MetricRow{"http_request_seconds", seconds, "From the head of a request to the end of its answer", "?"},
    MetricRow{"http_connections", gauge, "Open connections", "state=active|idle"},
    MetricRow{"http_refused_total", counter, "Requests that broke the rules of HTTP",
              "reason=400|408|413|414|431|503"},
    MetricRow{"requests_running", gauge, "Answers that are being made", kClasses},
    MetricRow{"requests_queued", gauge, "Answers that wait to be made", kClasses},
    MetricRow{"queue_age_seconds", gauge, "How long the oldest of them has waited", kClasses},
    MetricRow{"requests_rejected_total", counter, "Requests that were refused for want of room",
              "reason=server_overloaded|key_limit_exceeded|server_shutting_down"},
    MetricRow{"requests_finished_total", counter, "Answers by kind and how they ended",
              "kind=text|transcription|speech|embedding,reason=stop|cancelled"},
    MetricRow{"prompt_tokens_total", counter, "Tokens of prompts"},
    MetricRow{"prompt_cached_tokens_total", counter, "Of these, those that need not be computed",
              "tier=device|disk"},
    MetricRow{"generated_tokens_total", counter, "Tokens of answers"},
    MetricRow{"reasoning_tokens_total", counter, "Of these, those of thinking"},
    MetricRow{"queue_seconds", seconds, "From a request to its first step", kClasses},
    MetricRow{"time_to_first_token_seconds", seconds, "From a request to its first token", kClasses},
    MetricRow{"inter_token_seconds", short_seconds, "From one token of an answer to the next", kClasses},
    MetricRow{"step_seconds", short_seconds, "Time of a step", "kind=text"},
    MetricRow{"batch_rows", count, "Rows of a step"},
    MetricRow{"kv_cache_usage_ratio", gauge, "Share of the cache's pages that hold something"},
    MetricRow{"kv_pages", gauge, "Pages of the cache", "state=free|used"},
    MetricRow{"kv_evicted_pages_total", counter, "Pages that were given up for others",
              "class=background|short_lived|conversation"},
    MetricRow{"snapshots_total", counter, "Conversations written and read",
              "op=save|restore,result=ok|refused|error"},
    MetricRow{"snapshot_refused_total", counter, "Files that were not believed",
              "reason=not_a_snapshot|damaged|other_version|other_model|other_layout|other_text"},
    MetricRow{"draft_tokens_total", counter, "Tokens that were proposed"},
    MetricRow{"draft_accepted_tokens_total", counter, "Of these, those that were taken"},
    MetricRow{"draft_accepted_length", count, "Tokens taken of one proposal"},
    MetricRow{"grammar_compiles_total", counter, "Grammars that were compiled", "result=ok|refused"},
    MetricRow{"grammar_compile_seconds", seconds, "Time of that"},
    MetricRow{"realtime_sessions", gauge, "Open sessions"},
    MetricRow{"realtime_events_total", counter, "Events of sessions by direction and type", "?"},
    MetricRow{"realtime_errors_total", counter, "Errors that clients of sessions were told", "?"},
    MetricRow{"voice_first_token_seconds", seconds,
              "From the end of speech to the first token of its answer"},
    MetricRow{"voice_first_audio_seconds", seconds,
              "From the end of speech to the first sound of its answer"},
    MetricRow{"asr_final_seconds", seconds, "From the end of speech to its final text"},
    MetricRow{"barge_in_silence_seconds", seconds,
              "From the beginning of speech into an answer to the answer's end"},
    MetricRow{"cancel_seconds", seconds, "From a client's leaving to the end of its work",
              "stage=queue|prefill|decode|asr|tts"},
    MetricRow{"tts_real_time_factor", factor, "Time of making speech by its length"},
    MetricRow{"asr_real_time_factor", factor, "Time of hearing a recording by its length"},
    MetricRow{"llamacpp:prompt_tokens_total", counter, "Tokens of prompts that were computed"},
    MetricRow{"llamacpp:prompt_seconds_total", counter, "Time of that"},
    MetricRow{"llamacpp:prompt_tokens_seconds", gauge, "The one by the other"},
    MetricRow{"llamacpp:tokens_predicted_total", counter, "Tokens of answers"},
    MetricRow{"llamacpp:tokens_predicted_seconds_total", counter, "Time of that"},
    MetricRow{"llamacpp:predicted_tokens_seconds", gauge, "The one by the other"},
    MetricRow{"llamacpp:requests_processing", gauge, "Answers that are being made"},
    MetricRow{"llamacpp:requests_deferred", gauge, "Answers that wait to be made"},
    MetricRow{"llamacpp:n_tokens_max", counter, "The longest prompt with its answer"},
    MetricRow{"llamacpp:n_decode_total", counter, "Steps"},
    MetricRow{"llamacpp:n_busy_slots_per_decode", gauge, "Answers and prompts in a step, on average"},
    MetricRow{"llamacpp:n_drafted_total", counter, "Tokens that were proposed"},
    MetricRow{"llamacpp:n_drafted_accepted_total", counter, "Of these, those that were taken"},
    MetricRow{"llamacpp:spec_decode_num_draft_tokens_total", counter, "Tokens that were proposed"},
    MetricRow{"llamacpp:spec_decode_num_accepted_tokens_total", counter, "Of these, those that were taken"},
    MetricRow{"wyoming_connections", gauge, "Open connections of the Wyoming protocol"},
    MetricRow{"wyoming_events_total", counter, "Events that came over them",
              "type=describe|ping|transcribe|audio-start|audio-chunk|audio-stop|synthesize|synthesize-start|"
              "synthesize-chunk|synthesize-stop|transcript|recognize|detect|other"},
    MetricRow{"process_cpu_seconds_total", counter, "Time of all processors for this process"},
    MetricRow{"process_resident_memory_bytes", gauge, "Memory of the machine that it takes"},
    MetricRow{"process_open_fds", gauge, "Open files and sockets"},
    MetricRow{"process_threads", gauge, "Threads"},
    MetricRow{"process_start_time_seconds", gauge, "When it started, in seconds since 1970"},
};

pm::Histogram::BucketBoundaries buckets_of(MetricKind kind) {
  switch (kind) {
    case short_seconds:
      return {.002, .005, .01, .02, .03, .05, .08, .12, .2, .5};
    case factor:
      return {.02, .05, .1, .2, .3, .5, .7, 1, 2};
    case count:
      return {1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512};
    default:
      return {.02, .04, .06, .08, .1, .15, .2, .3, .4, .6, .8, 1.2, 2, 5, 15};
  }
}

std::string full_name(std::string_view name) {
  const bool is_whole = name.find(':') != std::string_view::npos || name.starts_with("process_");
  return is_whole ? std::string(name) : "parlance_" + std::string(name);
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end = 0; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
  }
  return parts;
}

pm::Labels labels_of(Metrics::Labels labels) {
  pm::Labels result;
  for (const auto& [name, value] : labels) result.emplace(name, value);
  return result;
}

}  // namespace

struct Metrics::Impl {
  using Family = std::variant<pm::Family<pm::Counter>*, pm::Family<pm::Gauge>*, pm::Family<pm::Histogram>*>;

  void declare(const MetricRow& row) {
    const std::string name = full_name(row.name);
    if (row.kind == counter) {
      families[row.name] = &pm::BuildCounter().Name(name).Help(row.help).Register(registry);
    } else if (row.kind == gauge) {
      families[row.name] = &pm::BuildGauge().Name(name).Help(row.help).Register(registry);
    } else {
      families[row.name] = &pm::BuildHistogram().Name(name).Help(row.help).Register(registry);
      buckets[row.name] = buckets_of(row.kind);
    }
    const std::string_view values = row.values;
    if (values == kLater) return;
    std::vector<pm::Labels> all = {{}};
    for (const std::string_view label : parts_of(values, ',')) {
      const size_t equals = label.find('=');
      std::vector<pm::Labels> more;
      for (const pm::Labels& one : all) {
        for (const std::string_view value : parts_of(label.substr(equals + 1), '|')) {
          more.push_back(one);
          more.back().emplace(label.substr(0, equals), value);
        }
      }
      all = std::move(more);
    }
    for (const pm::Labels& one : all) touch(row.name, one);
  }

  // Is there from now on, with its value 0.
  void touch(std::string_view name, const pm::Labels& labels) {
    const Family& family = families.find(name)->second;
    if (const auto* counters = std::get_if<pm::Family<pm::Counter>*>(&family)) (*counters)->Add(labels);
    if (const auto* gauges = std::get_if<pm::Family<pm::Gauge>*>(&family)) (*gauges)->Add(labels);
    if (const auto* histograms = std::get_if<pm::Family<pm::Histogram>*>(&family)) {
      (*histograms)->Add(labels, buckets.find(name)->second);
    }
  }

  pm::Registry registry;
  std::map<std::string, Family, std::less<>> families;  // complete from the constructor on
  std::map<std::string, pm::Histogram::BucketBoundaries, std::less<>> buckets;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {
  for (const MetricRow& row : kMetricTable) impl_->declare(row);
}

Metrics::~Metrics() = default;

void Metrics::add(std::string_view name, double n, Labels labels) {
  std::get<pm::Family<pm::Counter>*>(impl_->families.find(name)->second)->Add(labels_of(labels)).Increment(n);
}

void Metrics::raise(std::string_view name, double value, Labels labels) {
  auto& one = std::get<pm::Family<pm::Counter>*>(impl_->families.find(name)->second)->Add(labels_of(labels));
  if (value > one.Value()) one.Increment(value - one.Value());
}

double Metrics::value(std::string_view name) const {
  return std::get<pm::Family<pm::Counter>*>(impl_->families.find(name)->second)->Add({}).Value();
}

void Metrics::set(std::string_view name, double value, Labels labels) {
  std::get<pm::Family<pm::Gauge>*>(impl_->families.find(name)->second)->Add(labels_of(labels)).Set(value);
}

void Metrics::observe(std::string_view name, double value, Labels labels) {
  std::get<pm::Family<pm::Histogram>*>(impl_->families.find(name)->second)
      ->Add(labels_of(labels), impl_->buckets.find(name)->second)
      .Observe(value);
}

std::string Metrics::text() const {
  return pm::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace parlance
