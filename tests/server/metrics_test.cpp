// The figures: all that are recorded, with their types and buckets, each from its source.
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "support/comes_true.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;

// Of a part that is not there, a block store; and what has labels that nobody knows before.
const std::set<std::string> kAbsent = {"store_requests_total", "store_seconds", "store_breaker_open",
                                       "realtime_errors_total"};
// An average, which may fall.
const std::set<std::string> kGauges = {"n_busy_slots_per_decode"};

struct Figures {
  std::map<std::string, std::string> types;  // by name
  std::map<std::string, double> values;      // by name and labels

  double operator[](const std::string& series) const {
    const auto found = values.find(series);
    return found == values.end() ? -1 : found->second;
  }
  // The sum over all labels.
  double sum(const std::string& name) const {
    double sum = 0;
    for (const auto& [series, value] : values) {
      if (series == name || series.starts_with(name + "{")) sum += value;
    }
    return sum;
  }
};

Figures figures_of(const std::string& text) {
  Figures figures;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, what, name, type;
    if (line.starts_with("# TYPE")) {
      words >> hash >> what >> name >> type;
      EXPECT_TRUE(figures.types.emplace(name, type).second) << name << " twice";
    } else if (!line.empty() && line[0] != '#') {
      const size_t blank = line.rfind(' ');
      figures.values[line.substr(0, blank)] = std::stod(line.substr(blank + 1));
    }
  }
  return figures;
}

class ServerFigures : public testing::Test {
 protected:
  void SetUp() override {
    server_ = test::start_server(test::demo_options());
    ASSERT_TRUE(server_);
  }
  Figures figures() const { return figures_of(test::ask(server_->port(), "GET", "/metrics").body); }
  json ask(json body) const {
    body["messages"] = {{{"role", "user"}, {"content", "Tell me a story."}}};
    return json::parse(test::ask(server_->port(), "POST", "/v1/chat/completions", body.dump()).body);
  }
  void leave_a_stream() const {
    const json body = {{"messages", {{{"role", "user"}, {"content", "Count."}}}},
                       {"stream", true},
                       {"ignore_eos", true},
                       {"max_tokens", 900}};
    test::Client client(server_->port());
    client.send(test::request_text("POST", "/v1/chat/completions", server_->port(),
                                   {{"content-type", "application/json"}}, body.dump()));
    client.receive();
  }

  std::unique_ptr<Server> server_;
};

TEST_F(ServerFigures, AreThoseThatAreRecorded) {
  PARLANCE_REQUIRE_FIXTURES("server");
  const json recorded = test::read_json(test::fixtures_root() / "server/metrics.json");
  const Figures figures = this->figures();
  size_t n_recorded = 0;
  for (const char* prefix : {"parlance_", "llamacpp:"}) {
    for (const auto& [name, row] : recorded[prefix].items()) {
      if (kAbsent.contains(name)) continue;
      ++n_recorded;
      const bool is_known = name == "snapshots_total" || name == "requests_finished_total";
      const bool is_later = (row[1].size() > 1 && !is_known) || name == "http_request_seconds";
      const auto type = figures.types.find(prefix + name);
      if (type == figures.types.end()) {
        EXPECT_TRUE(is_later) << name;
        continue;
      }
      EXPECT_EQ(type->second, kGauges.contains(name) ? "gauge" : row[0].get<std::string>()) << name;
    }
  }
  for (const auto& [name, type] : figures.types) {
    const bool is_known = (name.starts_with("parlance_") && recorded["parlance_"].contains(name.substr(9))) ||
                          (name.starts_with("llamacpp:") && recorded["llamacpp:"].contains(name.substr(9))) ||
                          name.starts_with("process_");
    EXPECT_TRUE(is_known) << name;
  }
  for (const auto& [name, kind] :
       std::map<std::string, std::string>{{"parlance_time_to_first_token_seconds", "seconds"},
                                          {"parlance_inter_token_seconds", "inter_token_seconds"},
                                          {"parlance_tts_real_time_factor", "real_time_factor"}}) {
    for (const json& bound : recorded["buckets"][kind]) {
      size_t n = 0;
      for (const auto& [series, value] : figures.values) {
        const std::string label = "le=\"" + fmt::format("{}", bound.get<double>()) + "\"";
        n += series.starts_with(name + "_bucket") && series.find(label) != std::string::npos;
      }
      EXPECT_GT(n, 0u) << name << " " << bound;
    }
  }
  EXPECT_GT(n_recorded, 40u);
}

TEST_F(ServerFigures, ComeFromWhatHappens) {
  const Figures before = figures();
  const json usage = ask({{"max_tokens", 20}, {"temperature", 0}})["usage"];
  // An answer is counted when it has left, which may be after the client has it.
  Figures after = figures();
  for (int i = 0; i < 500; ++i) {
    const bool is_counted = after.sum("parlance_http_request_seconds_count") >= 2;
    if (is_counted && after["parlance_http_connections{state=\"active\"}"] == 1) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    after = figures();
  }
  const auto rise = [&](const std::string& name) { return after.sum(name) - before.sum(name); };
  EXPECT_EQ(rise("parlance_prompt_tokens_total"), usage["prompt_tokens"]);
  EXPECT_EQ(rise("parlance_generated_tokens_total"), usage["completion_tokens"]);
  EXPECT_EQ(after["llamacpp:n_tokens_max"], usage["total_tokens"]);
  for (const char* name : {"parlance_step_seconds_count",
                           "parlance_batch_rows_count",
                           "llamacpp:n_decode_total",
                           "llamacpp:n_busy_slots_per_decode",
                           "parlance_queue_seconds_count",
                           "llamacpp:prompt_tokens_seconds",
                           "parlance_time_to_first_token_seconds_count",
                           "parlance_inter_token_seconds_count",
                           "llamacpp:predicted_tokens_seconds",
                           "parlance_requests_finished_total",
                           "parlance_draft_tokens_total",
                           "parlance_draft_accepted_length_count",
                           "parlance_kv_cache_usage_ratio",
                           "process_threads",
                           "process_open_fds",
                           "process_resident_memory_bytes",
                           "process_cpu_seconds_total",
                           "process_start_time_seconds",
                           "parlance_build_info",
                           "parlance_http_request_seconds_count"}) {
    EXPECT_GT(after.sum(name), 0) << name;
  }
  EXPECT_EQ(after["parlance_http_connections{state=\"active\"}"], 1);  // who asks for the figures
  ask({{"max_tokens", 4}, {"response_format", {{"type", "json_object"}}}});
  const Figures last = figures();
  EXPECT_EQ(last["parlance_grammar_compiles_total{result=\"ok\"}"], 1);
  for (const auto& [series, value] : after.values) {
    const std::string name = series.substr(0, series.find('{'));
    const auto type = last.types.find(name);
    if (type != last.types.end() && type->second == "counter") {
      EXPECT_GE(last[series], value) << series;
    }
  }
}

TEST_F(ServerFigures, OfClientsThatLeaveSayHowLongTheirWorkWentOn) {
  for (int i = 0; i < 3; ++i) leave_a_stream();
  Figures figures;
  // The thread that computes tells how many there are when it next looks, behind the end of the last.
  EXPECT_TRUE(test::comes_true([&] {
    figures = this->figures();
    return figures.sum("parlance_cancel_seconds_count") == 3 && figures.sum("parlance_requests_running") == 0;
  }));
  EXPECT_EQ(figures["parlance_requests_finished_total{kind=\"text\",reason=\"cancelled\"}"], 3);
}

}  // namespace
}  // namespace parlance
