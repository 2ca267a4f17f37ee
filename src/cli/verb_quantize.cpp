// parlance quantize: a model file written anew with its matrices in another type.
#include <memory>

#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"
#include "cli/verbs.h"
#include "json/json.h"
#include "models/mixture.h"
#include "models/quantize.h"

namespace parlance {

namespace {

struct QuantizeArguments {
  std::string in;
  std::string out;
  std::string mixture;
  int n_threads = 0;
  bool wants_json = false;
};

// A line that is written over until the work is done, on a terminal only.
class ProgressLine {
 public:
  explicit ProgressLine(const Console& io) : io_(io) {}
  ~ProgressLine() {
    if (is_shown_) show("");
  }

  void update(const QuantizeProgress& p) {
    if (!io_.err_is_terminal) return;
    const double done =
        p.bytes_total > 0 ? static_cast<double>(p.bytes_done) / static_cast<double>(p.bytes_total) : 1;
    show(fmt::format("{:3.0f} %  {}/{} tensors  {} {} -> {}", done * 100, p.n_tensors_done, p.n_tensors,
                     printable(p.tensor), name_of(p.from), name_of(p.to)));
    is_shown_ = true;
  }

 private:
  void show(const std::string& text) {
    const auto width = static_cast<size_t>(io_.width) - 1;
    io_.write_progress(shorten(text, width));
  }

  const Console& io_;
  bool is_shown_ = false;
};

Json to_json(const std::vector<QuantizeReport::TypeCount>& counts) {
  Json types = Json::array();
  for (const auto& count : counts) {
    types.push(
        Json::object({{"type", name_of(count.dtype)}, {"tensors", count.n_tensors}, {"bytes", count.bytes}}));
  }
  return types;
}

void print_report(const Console& io, const QuantizeArguments& arguments, const QuantizeReport& report) {
  if (arguments.wants_json) {
    io.print("{}\n", Json::object({{"file", arguments.out},
                                   {"type", arguments.mixture},
                                   {"bytes_before", report.bytes_before},
                                   {"bytes_after", report.bytes_after},
                                   {"before", to_json(report.before)},
                                   {"after", to_json(report.after)},
                                   {"tensors_in_a_larger_type", report.n_fallback},
                                   {"tensors_quantised_twice", report.n_requantised}})
                         .pretty());
    return;
  }
  Table table({{"", Table::Align::left}, {"type", Table::Align::left}, {"tensors"}, {"size"}});
  const auto add = [&](const char* when, const std::vector<QuantizeReport::TypeCount>& counts) {
    for (const auto& count : counts) {
      table.add({when, std::string(name_of(count.dtype)), fmt::format("{}", count.n_tensors),
                 format_bytes(static_cast<double>(count.bytes))});
      when = "";
    }
  };
  add("before", report.before);
  add("after", report.after);
  io.write(table.text(io));
  const double ratio = report.bytes_before > 0 ? static_cast<double>(report.bytes_after) /
                                                     static_cast<double>(report.bytes_before)
                                               : 1;
  io.print("\n  {}: {}, {} of the original {}\n", printable(arguments.out),
           format_bytes(static_cast<double>(report.bytes_after)), format_percent(ratio),
           format_bytes(static_cast<double>(report.bytes_before)));
  if (report.n_fallback > 0) {
    io.print("  {} tensors have rows that the type's blocks do not divide; they are in a larger type\n",
             report.n_fallback);
  }
}

Result<int> quantize(Console& io, const QuantizeArguments& arguments) {
  // The unfinished file is removed when the work ends, so a second Ctrl-C has to wait for it too.
  const InterruptGuard guard(SecondInterrupt::waits);
  QuantizeOptions options{.mixture = arguments.mixture, .n_threads = arguments.n_threads, .progress = {}};
  Result<QuantizeReport> report = [&] {
    ProgressLine line(io);
    options.progress = [&](const QuantizeProgress& progress) {
      line.update(progress);
      return !guard.interrupted();
    };
    return quantize_file(arguments.in, arguments.out, options);
  }();
  if (!report) return tl::unexpected<Error>(std::move(report).error());
  print_report(io, arguments, *report);
  return kSuccess;
}

Option positional(std::string name, std::string help, std::string& target) {
  Option option = text_option(name, name, std::move(help), target);
  option.required = true;
  return option;
}

}  // namespace

Command quantize_command() {
  const auto arguments = std::make_shared<QuantizeArguments>();
  Command command;
  command.name = "quantize";
  command.summary = "Make a model file smaller, or convert its number format.";
  command.description =
      "Reads IN and writes OUT with the matrices in another type; the names of types are those of "
      "llama-quantize. OUT appears when it is complete, and not at all if something goes wrong. Start from "
      "an F32, F16 or BF16 file: what is quantised already loses accuracy twice.";
  command.examples = {{"parlance quantize Qwen3-0.6B-BF16.gguf Qwen3-0.6B-Q4_K_M.gguf q4_k_m",
                       "about a third of the size, little loss"},
                      {"parlance quantize in.gguf out.gguf q8_0", "half the size, hardly any loss"}};
  command.positionals = {positional("IN", "The model to read, a GGUF file.", arguments->in),
                         positional("OUT", "The file to write; an existing one is replaced.", arguments->out),
                         positional("TYPE", "One of " + mixture_names() + ".", arguments->mixture)};
  command.groups = {{"Work", {threads_option(arguments->n_threads)}},
                    {"Output", {json_option(arguments->wants_json)}}};
  command.check = [arguments]() -> Result<void> {
    if (find_mixture(arguments->mixture)) return {};
    return fail(ErrorCode::invalid_argument, "TYPE '{}' is not one of {}", arguments->mixture,
                mixture_names());
  };
  command.run = [arguments](Console& io) { return quantize(io, *arguments); };
  return command;
}

}  // namespace parlance
