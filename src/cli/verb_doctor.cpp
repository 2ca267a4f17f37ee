// parlance doctor: what this machine offers, what this build has, and what to do about the rest.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "assistant/default_model.h"
#include "assistant/wording.h"
#include "base/os/environment.h"
#include "cli/terminal/help.h"
#include "cli/terminal/line_reader.h"
#include "cli/terminal/options.h"
#include "cli/terminal/units.h"
#include "cli/verbs.h"
#include "devices/devices.h"
#include "json/json.h"
#include "kernels/copy_bandwidth.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/roofline.h"
#include "measure/system_info.h"

namespace parlance {

namespace {

struct Finding {
  std::string subject;
  std::string fact;
  std::string advice;  // empty: all is well
};

struct DeviceReport {
  DeviceInfo info;
  CopyBandwidth bandwidth;
  std::string problem;  // empty: it works
};

struct Report {
  SystemInfo system;
  std::vector<DeviceReport> devices;  // beside the CPU
  Isa isa;
  Roofline roofline;
  std::vector<Finding> findings;
};

Result<CopyBandwidth> copy_bandwidth_of(const std::string& name) {
  PARLANCE_TRY(const auto device, make_device(name, 0));
  return measure_copy_bandwidth(*device);
}

void look_at_processor(Report& report) {
  const SystemInfo& s = report.system;
  Finding processor{"processor", s.processor.empty() ? "unknown" : printable(s.processor), {}};
  Finding threads{"threads", fmt::format("{} of {} processors may be used", s.n_usable, s.n_online), {}};
  if (s.processor_quota > 0 && s.processor_quota < s.n_usable) {
    threads.fact += fmt::format(", the container grants the time of {:.1f}", s.processor_quota);
    threads.advice =
        fmt::format("Give --threads {:.0f}, or a larger share of the processor to the container.",
                    std::max(1.0, s.processor_quota));
  }
  Finding isa{"instruction set", std::string(name_of(report.isa)), {}};
  const Isa best = available_isas().back();
  if (report.isa != best) {
    isa.advice = fmt::format(
        "PARLANCE_ISA asks for it; without that variable {} would be used, which is faster.", name_of(best));
  } else if (best == Isa::scalar) {
    isa.advice = "This processor lacks AVX2 (x86-64) or NEON (Arm); answers will be slow. Use small models.";
  }
  isa.fact += s.features.empty() ? "" : fmt::format(" (the processor has {})", fmt::join(s.features, " "));
  report.findings.insert(report.findings.end(), {processor, threads, isa});
}

void look_at_memory(Report& report) {
  const SystemInfo& s = report.system;
  constexpr double kLittleBytes = 2.0 * (1 << 30);
  Finding memory{"memory",
                 fmt::format("{}, {} of it free", format_bytes(static_cast<double>(s.memory_bytes)),
                             format_bytes(static_cast<double>(s.available_bytes))),
                 {}};
  if (s.memory_limit_bytes > 0 && s.memory_limit_bytes < s.memory_bytes) {
    memory.fact +=
        fmt::format(", the container may use {}", format_bytes(static_cast<double>(s.memory_limit_bytes)));
  }
  if (s.available_bytes > 0 && static_cast<double>(s.available_bytes) < kLittleBytes) {
    memory.advice =
        "Little is free: close other programs, or use a model of less than a billion parameters in q4_k_m.";
  }
  Finding huge_pages{"huge pages", s.huge_pages.empty() ? "not known" : s.huge_pages, {}};
  if (s.huge_pages == "never") {
    huge_pages.advice =
        "Long contexts are read faster with them: echo madvise | sudo tee "
        "/sys/kernel/mm/transparent_hugepage/enabled";
  }
  const Roofline& r = report.roofline;
  const Finding read{"memory reads at",
                     fmt::format("{} GB/s; a model of 1 GB cannot make more than {:.0f} tokens a second",
                                 format_rate(r.read_bytes_per_second / 1e9), r.read_bytes_per_second / 1e9),
                     {}};
  std::string peaks = fmt::format("int8 {}, f32 {}", format_rate(r.int8_ops_per_second / 1e9),
                                  format_rate(r.f32_ops_per_second / 1e9));
  if (r.int16_ops_per_second > 0)
    peaks += fmt::format(", int16 {}", format_rate(r.int16_ops_per_second / 1e9));
  if (r.bf16_ops_per_second > 0) peaks += fmt::format(", bf16 {}", format_rate(r.bf16_ops_per_second / 1e9));
  report.findings.insert(
      report.findings.end(),
      {memory, huge_pages, read, {"arithmetic", peaks + " billion operations a second", {}}});
}

std::string gigabytes(double bytes_per_second) {
  return format_rate(bytes_per_second / 1e9) + " GB/s";
}

// One line for each device beside the CPU, with what --device calls it.
void look_at_devices(Report& report) {
  for (const Backend& backend : list_backends()) {
    if (backend.name == "cpu") continue;
    if (!backend.devices) {
      report.findings.push_back({std::string(backend.name),
                                 "none; " + worded(backend.devices.error().message, Door::command_line),
                                 {}});
      continue;
    }
    for (const DeviceInfo& info : *backend.devices) {
      DeviceReport device{info, {}, {}};
      Finding finding{info.name,
                      fmt::format("{}, {}, {} of it free", printable(info.description),
                                  format_bytes(static_cast<double>(info.memory.total)),
                                  format_bytes(static_cast<double>(info.memory.free))),
                      {}};
      if (const auto bandwidth = copy_bandwidth_of(info.name)) {
        device.bandwidth = *bandwidth;
        finding.fact += fmt::format("; copies {} inside, {} to it, {} from it", gigabytes(bandwidth->inside),
                                    gigabytes(bandwidth->to_device), gigabytes(bandwidth->from_device));
      } else {
        finding.advice = device.problem = worded(bandwidth.error().message, Door::command_line);
      }
      report.devices.push_back(std::move(device));
      report.findings.push_back(std::move(finding));
    }
  }
}

void look_at_models(Report& report) {
  const auto model = find_model("");
  Finding finding{"default model", model ? printable(model->string()) : "none", {}};
  std::error_code error;
  if (!model && model.error().code != ErrorCode::not_found) {
    finding.advice = printable(worded(model.error().message, Door::command_line));
  } else if (!model) {
    finding.advice =
        "Run from the source folder, where models/demo/text has one, or set PARLANCE_MODEL to a GGUF file; "
        "Qwen3, Qwen2 and Llama files made for llama.cpp will do.";
  } else if (!std::filesystem::exists(*model, error)) {
    finding.advice = "PARLANCE_MODEL names a file that does not exist; correct it or unset it.";
  }
  report.findings.push_back(finding);
}

void look_at_terminal(const Console& io, Report& report) {
  const auto term = environment("TERM");
  std::string fact = io.out_is_terminal
                         ? fmt::format("{}, {} columns, {}", term ? printable(*term) : "TERM not set",
                                       io.width, io.out_has_colour ? "colours" : "no colours")
                         : "output goes to a file or another program";
  report.findings.push_back({"terminal", std::move(fact), {}});
  const std::filesystem::path history = default_history_file();
  Finding finding{"history", history.empty() ? "not kept" : printable(history.string()), {}};
  if (history.empty())
    finding.advice = "Set HOME or XDG_STATE_HOME to a folder, so that questions can be found again.";
  report.findings.push_back(finding);
}

void print_report(const Console& io, const Report& report) {
  constexpr int kColumn = 20;
  const auto width = static_cast<size_t>(std::min(io.width, 100));
  size_t n_advice = 0;
  for (const Finding& finding : report.findings) {
    io.print("  {:<{}}{}\n", finding.subject, kColumn - 2, wrap(finding.fact, width, kColumn));
    if (finding.advice.empty()) continue;
    ++n_advice;
    io.print("{:{}}{} {}\n", "", kColumn, io.styled(Style::yellow, "->"),
             wrap(finding.advice, width, kColumn + 3));
  }
  io.print("\n{}\n", n_advice == 0 ? io.styled(Style::green, "All is well.")
                                   : fmt::format("{} of these can be improved.", n_advice));
}

Json to_json(const Report& report) {
  const SystemInfo& s = report.system;
  Json features = Json::array(), isas = Json::array(), findings = Json::array();
  Json devices = Json::array().push(Json::object({{"name", "cpu"}}));
  for (const std::string& feature : s.features) features.push(feature);
  for (const Isa isa : available_isas()) isas.push(name_of(isa));
  for (const DeviceReport& device : report.devices) {
    Json item = Json::object({{"name", device.info.name},
                              {"description", device.info.description},
                              {"memory_bytes", device.info.memory.total},
                              {"free_bytes", device.info.memory.free},
                              {"copy_bytes_per_second", device.bandwidth.inside},
                              {"upload_bytes_per_second", device.bandwidth.to_device},
                              {"download_bytes_per_second", device.bandwidth.from_device}});
    if (!device.problem.empty()) item.set("problem", device.problem);
    devices.push(item);
  }
  for (const Finding& finding : report.findings) {
    Json item = Json::object({{"subject", finding.subject}, {"fact", finding.fact}});
    if (!finding.advice.empty()) item.set("advice", finding.advice);
    findings.push(item);
  }
  return Json::object({{"version", PARLANCE_VERSION},
                       {"processor", s.processor},
                       {"processor_features", features},
                       {"instruction_sets", isas},
                       {"instruction_set", name_of(report.isa)},
                       {"processors_usable", s.n_usable},
                       {"processors_online", s.n_online},
                       {"processor_quota", s.processor_quota},
                       {"memory_bytes", s.memory_bytes},
                       {"available_bytes", s.available_bytes},
                       {"memory_limit_bytes", s.memory_limit_bytes},
                       {"huge_pages", s.huge_pages},
                       {"read_bytes_per_second", report.roofline.read_bytes_per_second},
                       {"int8_ops_per_second", report.roofline.int8_ops_per_second},
                       {"int16_ops_per_second", report.roofline.int16_ops_per_second},
                       {"f32_ops_per_second", report.roofline.f32_ops_per_second},
                       {"bf16_ops_per_second", report.roofline.bf16_ops_per_second},
                       {"devices", devices},
                       {"findings", findings}});
}

Result<int> doctor(Console& io, bool wants_json) {
  Report report;
  PARLANCE_TRY(report.isa, choose_isa());
  report.system = read_system_info();
  report.roofline = measure_roofline(report.isa, report.system.n_usable);
  look_at_processor(report);
  look_at_memory(report);
  look_at_devices(report);
  look_at_models(report);
  look_at_terminal(io, report);
  if (wants_json) {
    io.print("{}\n", to_json(report).pretty());
  } else {
    io.print("{}\n\n", io.styled(Style::bold, fmt::format("parlance {}", PARLANCE_VERSION)));
    print_report(io, report);
  }
  return kSuccess;
}

}  // namespace

Command doctor_command() {
  const auto wants_json = std::make_shared<bool>(false);
  Command command;
  command.name = "doctor";
  command.summary = "Look at this machine and this build, and say what to do.";
  command.description =
      "Shows what the processor can do, how fast memory is (measured now, in about a second), which other "
      "devices there "
      "are, with their memory and how fast they copy, and which model runs when none is named. Where "
      "something is missing or could be better, it says "
      "how.";
  command.examples = {{"parlance doctor", "the report"},
                      {"parlance doctor --json", "for scripts and for bug reports"}};
  command.groups = {{"Output", {json_option(*wants_json)}}};
  command.run = [wants_json](Console& io) { return doctor(io, *wants_json); };
  return command;
}

}  // namespace parlance
