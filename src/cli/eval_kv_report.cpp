#include "cli/eval_kv_report.h"

#include <fmt/format.h>

#include "cli/terminal/table.h"

namespace parlance {

void print_cache_quality(const Console& io, const std::vector<CacheQuality>& results) {
  std::vector<Table::Column> columns = {{"options", Table::Align::left},
                                        {"bits"},
                                        {"bytes/token"},
                                        {"perplexity"},
                                        {"KL mean"},
                                        {"KL 99 %"},
                                        {"top-1"}};
  for (const auto& [category, share] : results.front().n_right) columns.push_back({category});
  Table table(columns);
  for (const CacheQuality& q : results) {
    std::vector<std::string> row = {q.name,
                                    fmt::format("{:.2f}", q.bits_per_value),
                                    fmt::format("{}", q.bytes_per_token),
                                    fmt::format("x {:.4f}", q.perplexity_ratio),
                                    fmt::format("{:.5f}", q.kl_mean),
                                    fmt::format("{:.4f}", q.kl_p99),
                                    fmt::format("{:.2f} %", q.top1 * 100)};
    for (const auto& [category, share] : q.n_right) row.push_back(fmt::format("{:.1f} %", share * 100));
    table.add(std::move(row));
  }
  io.write(table.text(io));
}

Json to_json(const std::vector<CacheQuality>& results) {
  Json rows = Json::array();
  for (const CacheQuality& q : results) {
    Json right = Json::object();
    for (const auto& [category, share] : q.n_right) right.set(category, share);
    rows.push(Json::object({{"options", q.name},
                            {"bits_per_value", q.bits_per_value},
                            {"bytes_per_token", q.bytes_per_token},
                            {"perplexity_ratio", q.perplexity_ratio},
                            {"kl_mean", q.kl_mean},
                            {"kl_p99", q.kl_p99},
                            {"top1_agreement", q.top1},
                            {"right", right}}));
  }
  return rows;
}

}  // namespace parlance
