#include "cli/bundle_report.h"

#include <fmt/format.h>

#include "assistant/wording.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"

namespace parlance {

namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

size_t total_bytes(const BundleReport& report) {
  size_t n_bytes = 0;
  for (const FileReport& file : report.files) n_bytes += file.n_bytes;
  return n_bytes;
}

std::string content_text(const FileReport& file) {
  if (!file.content) return "";
  std::string text = printable(file.content->kind);
  if (file.content->n_parameters > 0) {
    text += fmt::format(", {} parameters", format_count(file.content->n_parameters));
  }
  return text;
}

std::string context_text(const FileReport& file) {
  return file.said.ctx > 0 ? std::to_string(file.said.ctx) : "";
}

std::string figures_text(const Eval& eval) {
  std::string text;
  for (const auto& [name, value] : eval.figures) {
    text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", printable(name), value);
  }
  return text;
}

std::string_view passed_text(const Eval& eval) {
  return !eval.has_passed ? "" : *eval.has_passed ? "passed" : "not passed";
}

void print_head(const Console& io, const BundleReport& report) {
  const Manifest& manifest = report.manifest;
  io.print("{}\n", io.styled(Style::bold, fmt::format("{} {}", manifest.id, manifest.version)));
  io.print("  tier {}, published {}{}{}\n\n", manifest.tier, manifest.published_at,
           manifest.release_channel.empty() ? "" : ", channel " + manifest.release_channel,
           manifest.is_default_eligible ? ", may be a default" : "");
}

// The lineage that stands for a group of files.
const Lineage* lineage_of(const Manifest& manifest, const std::string& group) {
  const bool is_drafter = group == "dflash" || group == "mtp";
  return manifest.find_lineage(is_drafter ? "drafter" : group == "cache" ? "voice" : group);
}

Json texts(const std::vector<std::string>& list) {
  Json json = Json::array();
  for (const std::string& text : list) json.push(worded(text, Door::command_line));
  return json;
}

Json file_json(const FileReport& file) {
  Json json = Json::object({{"group", file.group},
                            {"path", file.said.path},
                            {"bytes", file.n_bytes},
                            {"sha256", file.said.sha256}});
  if (!file.found_sha256.empty()) json.set("foundSha256", file.found_sha256);
  if (file.said.ctx > 0) json.set("ctx", file.said.ctx);
  if (file.content) {
    json.set("kind", file.content->kind);
    json.set("name", file.content->name);
    json.set("parameters", file.content->n_parameters);
  }
  json.set("passed", file.problem.empty());
  if (!file.problem.empty()) json.set("problem", worded(file.problem, Door::command_line));
  return json;
}

Json eval_json(const Eval& eval) {
  Json json = Json::object({{"name", eval.name}});
  for (const auto& [name, value] : eval.figures) json.set(name, value);
  if (eval.has_passed) json.set("passed", *eval.has_passed);
  return json;
}

}  // namespace

void print_verification(const Console& io, const BundleReport& report) {
  print_head(io, report);
  Table files({{"file", Table::Align::left},
               {"size"},
               {"content", Table::Align::left},
               {"SHA-256", Table::Align::left},
               {"", Table::Align::left}});
  constexpr size_t kShown = 12;
  size_t n_bad = report.problems.size();
  for (const FileReport& file : report.files) {
    n_bad += file.problem.empty() ? 0 : 1;
    files.add(
        {file.said.path, file.found_sha256.empty() ? "" : format_bytes(static_cast<double>(file.n_bytes)),
         content_text(file), file.found_sha256.substr(0, kShown), file.problem.empty() ? "good" : "BAD"});
  }
  io.print("{}\n", files.text(io));
  for (const KernelRequirement& kernel : report.kernels) {
    io.print("  kernel {} is {}, and {}\n", printable(kernel.kernel),
             kernel.is_required ? "required" : "optional", kernel.is_offered ? "here" : "not here");
  }
  io.print("  memory: {} MB needed, {} MB recommended, {} MB in this machine\n", report.manifest.ram_min_mb,
           report.manifest.ram_recommended_mb, report.memory_bytes / kMegabyte);
  for (const std::string& warning : report.warnings) {
    io.print("  {} {}\n", io.styled(Style::yellow, "warning:"), printable(warning));
  }
  if (n_bad == 0) {
    io.print("\n{}\n", io.styled(Style::green,
                                 fmt::format("All {} files are as the manifest says.", report.files.size())));
    return;
  }
  io.print("\n{}\n",
           io.styled(Style::red, fmt::format("{} {} wrong:", n_bad, n_bad == 1 ? "thing is" : "things are")));
  for (const FileReport& file : report.files) {
    if (!file.problem.empty()) io.print("  {}\n", printable(worded(file.problem, Door::command_line)));
  }
  for (const std::string& problem : report.problems)
    io.print("  {}\n", printable(worded(problem, Door::command_line)));
}

void print_description(const Console& io, const BundleReport& report) {
  print_head(io, report);
  Table files({{"for", Table::Align::left},
               {"file", Table::Align::left},
               {"size"},
               {"context"},
               {"content", Table::Align::left},
               {"licence", Table::Align::left}});
  for (const FileReport& file : report.files) {
    const Lineage* lineage = lineage_of(report.manifest, file.group);
    files.add({printable(file.group), file.said.path, format_bytes(static_cast<double>(file.n_bytes)),
               context_text(file), file.problem.empty() ? content_text(file) : "cannot be read",
               lineage ? printable(lineage->license) : ""});
  }
  io.print("{}\n", files.text(io));
  io.print("  {} in {} files; {} MB of memory needed, {} MB recommended\n\n",
           format_bytes(static_cast<double>(total_bytes(report))), report.files.size(),
           report.manifest.ram_min_mb, report.manifest.ram_recommended_mb);
  Table origins({{"model", Table::Align::left}, {"made from", Table::Align::left}});
  for (const Lineage& lineage : report.manifest.lineage) {
    origins.add({printable(lineage.component), printable(lineage.base)});
  }
  if (origins.n_rows() > 0) io.print("{}\n", origins.text(io));
  Table scores({{"score", Table::Align::left}, {"figures", Table::Align::left}, {"", Table::Align::left}});
  for (const Eval& eval : report.manifest.evals) {
    scores.add({printable(eval.name), figures_text(eval), std::string(passed_text(eval))});
  }
  if (scores.n_rows() > 0) io.write(scores.text(io));
}

Json to_json(const BundleReport& report) {
  const Manifest& manifest = report.manifest;
  Json files = Json::array(), kernels = Json::array(), lineage = Json::object(), evals = Json::array();
  for (const FileReport& file : report.files) files.push(file_json(file));
  for (const KernelRequirement& kernel : report.kernels) {
    kernels.push(Json::object(
        {{"kernel", kernel.kernel}, {"required", kernel.is_required}, {"offered", kernel.is_offered}}));
  }
  for (const Lineage& entry : manifest.lineage) {
    lineage.set(entry.component, Json::object({{"base", entry.base}, {"license", entry.license}}));
  }
  for (const Eval& eval : manifest.evals) evals.push(eval_json(eval));
  return Json::object({{"manifest", report.name},
                       {"id", manifest.id},
                       {"tier", manifest.tier},
                       {"version", manifest.version},
                       {"publishedAt", manifest.published_at},
                       {"bytes", total_bytes(report)},
                       {"files", files},
                       {"kernels", kernels},
                       {"lineage", lineage},
                       {"evals", evals},
                       {"ramBudgetMb", Json::object({{"min", manifest.ram_min_mb},
                                                     {"recommended", manifest.ram_recommended_mb}})},
                       {"machineMemoryMb", report.memory_bytes / kMegabyte},
                       {"problems", texts(report.problems)},
                       {"warnings", texts(report.warnings)},
                       {"passed", report.has_passed()}});
}

}  // namespace parlance
