// parlance info: what is in a GGUF file, and the memory it needs.
#include <algorithm>
#include <map>
#include <memory>

#include "assistant/cache_settling.h"
#include "assistant/default_model.h"
#include "assistant/text_region.h"
#include "assistant/wording.h"
#include "cli/cache_report.h"
#include "cli/metadata_text.h"
#include "cli/terminal/options.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"
#include "cli/verbs.h"
#include "json/json.h"
#include "kernels/cpu/cpu_device.h"
#include "measure/memory_estimate.h"

namespace parlance {

namespace {

struct InfoOptions {
  std::string path;
  bool wants_tensors = false;
  bool wants_json = false;
};

struct TypeSum {
  size_t n_tensors = 0;
  double n_values = 0;
  double n_bytes = 0;
};

double n_values(const GgufTensor& tensor) {
  double n = 1;
  for (const int64_t size : tensor.ne) n *= static_cast<double>(size);
  return n;
}

std::map<DType, TypeSum> sums_by_type(const GgufFile& file) {
  std::map<DType, TypeSum> sums;
  for (const GgufTensor& tensor : file.tensors()) {
    TypeSum& sum = sums[tensor.dtype];
    ++sum.n_tensors;
    sum.n_values += n_values(tensor);
    sum.n_bytes += static_cast<double>(tensor.bytes.size());
  }
  return sums;
}

TypeSum total_of(const std::map<DType, TypeSum>& sums) {
  TypeSum total;
  for (const auto& [dtype, sum] : sums) {
    total.n_tensors += sum.n_tensors;
    total.n_values += sum.n_values;
    total.n_bytes += sum.n_bytes;
  }
  return total;
}

std::string shape_text(const GgufTensor& tensor) {
  std::string text;
  for (uint32_t d = 0; d < std::max<uint32_t>(1, tensor.n_dims); ++d) {
    text += fmt::format("{}{}", d == 0 ? "" : " x ", tensor.ne[d]);
  }
  return text;
}

// A value of the file for people, or nothing.
std::string text_at(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.find(key);
  return value ? printable(value_text(*value)) : "";
}

// What a model needs, by length of context and by the way of keeping keys and values.
struct MemoryFacts {
  std::unique_ptr<Device> device;
  std::unique_ptr<TextModel> text;
  std::optional<CacheProbe> probe;  // where it is known
  std::vector<MemoryEstimate> estimates;
  std::vector<CacheChoiceCost> costs;
};

// The facts of a model that this program runs; the error says why there are none.
Result<MemoryFacts> memory_of(const GgufFile& file) {
  MemoryFacts facts;
  PARLANCE_TRY(facts.device, make_cpu_device({.n_threads = 0}));
  PARLANCE_TRY(facts.text, TextModel::load(file.name(), *facts.device));
  PARLANCE_TRY(facts.estimates, estimate_memory(*facts.text));
  facts.costs = cache_costs(*facts.text, facts.estimates.front().workspace_bytes);
  facts.probe = known_probe(*facts.text);
  return facts;
}

void print_facts(const Console& io, const GgufFile& file, const TypeSum& total) {
  const auto fact = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) io.print("  {:<14}{}\n", name, shorten(value, static_cast<size_t>(io.width) - 16));
  };
  io.print("{}\n", io.styled(Style::bold, printable(file.name())));
  fact("name", text_at(file, "general.name"));
  fact("architecture", text_at(file, "general.architecture"));
  fact("licence", text_at(file, "general.license"));
  fact("parameters", format_count(total.n_values));
  fact("file size", format_bytes(static_cast<double>(file.n_bytes())));
  fact("format", fmt::format("GGUF version {}, {} keys, {} tensors", file.version(), file.metadata().size(),
                             file.tensors().size()));
}

void print_metadata(const Console& io, const GgufFile& file) {
  size_t key_width = 0;
  for (const auto& [key, value] : file.metadata())
    key_width = std::max(key_width, display_width(printable(key)));
  key_width = std::min<size_t>(key_width, 48);
  const size_t used = key_width + 20;
  const size_t value_width =
      static_cast<size_t>(io.width) > used + 24 ? static_cast<size_t>(io.width) - used : 24;
  Table table({{"key", Table::Align::left}, {"type", Table::Align::left}, {"value", Table::Align::left}});
  for (const auto& [key, value] : file.metadata()) {
    table.add({shorten(printable(key), key_width), type_text(value),
               shorten(printable(value_text(value)), value_width)});
  }
  io.print("\n{}", table.text(io));
}

void print_types(const Console& io, const std::map<DType, TypeSum>& sums) {
  if (sums.empty()) return;
  Table table({{"type", Table::Align::left}, {"tensors"}, {"parameters"}, {"size"}, {"bits each"}});
  for (const auto& [dtype, sum] : sums) {
    table.add({std::string(name_of(dtype)), fmt::format("{}", sum.n_tensors), format_count(sum.n_values),
               format_bytes(sum.n_bytes),
               fmt::format("{:.2f}", sum.n_values > 0 ? sum.n_bytes * 8 / sum.n_values : 0)});
  }
  io.print("\n{}", table.text(io));
}

void print_tensors(const Console& io, const GgufFile& file) {
  Table table({{"tensor", Table::Align::left},
               {"type", Table::Align::left},
               {"shape", Table::Align::left},
               {"size"}});
  for (const GgufTensor& tensor : file.tensors()) {
    table.add({printable(tensor.name), std::string(name_of(tensor.dtype)), shape_text(tensor),
               format_bytes(static_cast<double>(tensor.bytes.size()))});
  }
  io.print("\n{}", table.text(io));
}

// The options that choose it.
std::string options_of(const CacheChoiceCost& cost) {
  if (!cost.preset.empty()) return fmt::format("--cache {}", cost.preset);
  return fmt::format("-ctk {0} -ctv {0}", name_of(cost.format));
}

// Why the memory is not known.
std::string reason_of(const Error& error) {
  return worded(error.message, Door::command_line);
}

void print_memory(const Console& io, const GgufFile& file, const Result<MemoryFacts>& facts) {
  if (!facts) {
    io.print("\n  Memory by context length is not known: {}\n", printable(reason_of(facts.error())));
    return;
  }
  const auto weights = static_cast<double>(file.data().size());
  const bool has_states = facts->estimates.front().state_bytes > 0;
  std::vector<Table::Column> columns = {{"context"}, {"workspace"}};
  if (has_states) columns.push_back({"states"});
  columns.push_back({"cache f16"});
  columns.push_back({"cache tbq4_0"});
  columns.push_back({"total (f16)"});
  Table table(columns);
  for (const MemoryEstimate& estimate : facts->estimates) {
    const auto workspace = static_cast<double>(estimate.workspace_bytes);
    const auto states = static_cast<double>(estimate.state_bytes);
    std::vector<std::string> row = {fmt::format("{}", estimate.n_ctx), format_bytes(workspace)};
    if (has_states) row.push_back(format_bytes(states));
    for (const KvFormat format : {KvFormat::f16, KvFormat::tbq4_0}) {
      const auto& bytes = estimate.cache_bytes[static_cast<size_t>(format)];
      row.push_back(bytes ? format_bytes(static_cast<double>(*bytes)) : "-");
    }
    const auto f16 = estimate.cache_bytes[static_cast<size_t>(KvFormat::f16)];
    row.push_back(f16 ? format_bytes(weights + workspace + states + static_cast<double>(*f16)) : "-");
    table.add(std::move(row));
  }
  io.print("\n{}", table.text(io));
  io.print(
      "\n  The total adds the weights: {}, read in place and shared between programs that use the file.\n",
      format_bytes(weights));
  if (facts->costs.empty()) return;
  Table costs({{"cache", Table::Align::left}, {"bits a value"}, {"bytes a token"}, {"context that fits"}});
  for (const CacheChoiceCost& cost : facts->costs) {
    costs.add({options_of(cost), fmt::format("{:.2f}", cost.bits_per_value),
               fmt::format("{}", cost.bytes_per_token),
               format_count(static_cast<uint64_t>(cost.n_ctx_that_fits))});
  }
  io.print("\n{}\n  How many positions fit is reckoned from the memory that is free now.\n", costs.text(io));
  if (facts->probe) {
    io.print("\n");
    print_chosen_caches(io, *facts->text, *facts->probe);
  } else {
    io.print("  What formats do to this model is not known yet: parlance cache {}\n", printable(file.name()));
  }
}

Json to_json(const GgufFile& file, const std::map<DType, TypeSum>& sums, const Result<MemoryFacts>& facts,
             bool wants_tensors) {
  const TypeSum total = total_of(sums);
  Json json = Json::object({{"file", file.name()},
                            {"file_bytes", file.n_bytes()},
                            {"gguf_version", file.version()},
                            {"parameters", total.n_values}});
  Json metadata = Json::object();
  for (const auto& [key, value] : file.metadata()) metadata.add(key, value_json(value));
  Json types = Json::array();
  for (const auto& [dtype, sum] : sums) {
    types.push(Json::object({{"type", name_of(dtype)},
                             {"tensors", sum.n_tensors},
                             {"parameters", sum.n_values},
                             {"bytes", sum.n_bytes}}));
  }
  json.set("types", types).set("metadata", metadata);
  if (wants_tensors) {
    Json tensors = Json::array();
    for (const GgufTensor& tensor : file.tensors()) {
      Json shape = Json::array();
      for (uint32_t d = 0; d < tensor.n_dims; ++d) shape.push(tensor.ne[d]);
      tensors.push(Json::object({{"name", tensor.name},
                                 {"type", name_of(tensor.dtype)},
                                 {"shape", shape},
                                 {"bytes", tensor.bytes.size()}}));
    }
    json.set("tensors", tensors);
  }
  if (!facts) return json.set("memory", Json()).set("memory_unknown_because", reason_of(facts.error()));
  Json memory = Json::array();
  for (const MemoryEstimate& estimate : facts->estimates) {
    Json cache = Json::object();
    for (size_t f = 0; f < kKvFormatCount; ++f) {
      const auto& bytes = estimate.cache_bytes[f];
      cache.set(name_of(static_cast<KvFormat>(f)), bytes ? Json(*bytes) : Json());
    }
    memory.push(Json::object({{"n_ctx", estimate.n_ctx},
                              {"weights_bytes", file.data().size()},
                              {"workspace_bytes", estimate.workspace_bytes},
                              {"state_bytes", estimate.state_bytes},
                              {"cache_bytes", cache}}));
  }
  Json costs = Json::array();
  for (const CacheChoiceCost& cost : facts->costs) {
    costs.push(Json::object({{"options", options_of(cost)},
                             {"bits_per_value", cost.bits_per_value},
                             {"bytes_per_token", cost.bytes_per_token},
                             {"n_ctx_that_fits", cost.n_ctx_that_fits}}));
  }
  json.set("memory", memory).set("cache", costs);
  return facts->probe ? json.set("probe", to_json(*facts->text, *facts->probe)) : json;
}

Result<int> info(Console& io, const InfoOptions& options) {
  PARLANCE_TRY(const std::filesystem::path path, on_this_machine(options.path));
  PARLANCE_TRY(const GgufFile file, GgufFile::open(path));
  const auto sums = sums_by_type(file);
  const auto facts = memory_of(file);
  if (options.wants_json) {
    io.print("{}\n", to_json(file, sums, facts, options.wants_tensors).pretty());
    return kSuccess;
  }
  print_facts(io, file, total_of(sums));
  print_metadata(io, file);
  print_types(io, sums);
  if (options.wants_tensors) print_tensors(io, file);
  print_memory(io, file, facts);
  return kSuccess;
}

}  // namespace

Command info_command() {
  const auto options = std::make_shared<InfoOptions>();
  Command command;
  command.name = "info";
  command.summary = "Show what is in a GGUF file and how much memory it needs.";
  command.description =
      "Prints the metadata of a file, what its tensors are made of, and the memory that the model will need "
      "by length of context and format of its cache. Any GGUF file will do; the estimate of memory needs an "
      "architecture that this program runs.";
  command.examples = {{"parlance info model.gguf", "the overview"},
                      {"parlance info model.gguf --tensors | grep attn_k", "tensors by name"},
                      {"parlance info model.gguf --json", "for scripts"}};
  Option file = model_text_option("FILE", "FILE", "The file to look at.", options->path);
  file.required = true;
  command.positionals = {file};
  command.groups = {
      {"Output",
       {flag("--tensors", "List every tensor.", options->wants_tensors), json_option(options->wants_json)}}};
  command.run = [options](Console& io) { return info(io, *options); };
  return command;
}

}  // namespace parlance
