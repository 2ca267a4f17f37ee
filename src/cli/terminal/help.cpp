#include "cli/terminal/help.h"

#include <algorithm>

namespace parlance {

namespace {

constexpr size_t kMaxWidth = 100;   // longer lines are tiring to read
constexpr size_t kNameColumn = 30;  // where the explanations of options start

size_t width_of(const Console& io) {
  return std::min<size_t>(static_cast<size_t>(io.width), kMaxWidth);
}

std::string heading(const Console& io, std::string_view text) {
  return io.styled(Style::bold, text) + "\n";
}

// "  -t, --threads N       explanation, wrapped"
std::string entry(std::string_view name, std::string_view explanation, size_t column, size_t width) {
  std::string line = fmt::format("  {}", name);
  if (line.size() + 2 > column) {
    line += "\n" + std::string(column, ' ');
  } else {
    line.resize(column, ' ');
  }
  return line + wrap(explanation, width, column) + "\n";
}

std::string explanation_of(const Option& option) {
  std::string text = option.help;
  if (option.repeatable) text += " May be given several times.";
  if (!option.fallback.empty()) text += fmt::format(" [{}]", option.fallback);
  return text;
}

std::string usage_of(const Command& command) {
  std::string usage = "parlance " + command.name + " [options]";
  for (const Option& positional : command.positionals) {
    const std::string names = positional.names + (positional.repeatable ? "..." : "");
    usage += positional.required ? " " + names : " [" + names + "]";
  }
  return usage;
}

std::string paragraphs(std::string_view text, size_t width) {
  std::string result;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find("\n\n", start), text.size());
    result += wrap(text.substr(start, end - start), width, 0) + "\n\n";
    start = end + 2;
  }
  return result;
}

std::string examples_of(const Console& io, std::span<const Example> examples) {
  if (examples.empty()) return {};
  std::string text = heading(io, "Examples");
  for (const Example& example : examples) {
    text += fmt::format("  {}\n      {}\n", example.command, wrap(example.meaning, width_of(io), 6));
  }
  return text;
}

}  // namespace

std::string wrap(std::string_view text, size_t width, size_t indent) {
  std::string result;
  size_t column = indent;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(' ', start), text.size());
    const std::string_view word = text.substr(start, end - start);
    start = end + 1;
    if (word.empty()) continue;
    if (column > indent && column + 1 + word.size() > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string overview(const Console& io, std::span<const Command> commands) {
  std::string text =
      wrap("parlance listens, thinks and speaks on your own machine, with models from GGUF files.",
           width_of(io), 0);
  text += "\n\n" + heading(io, "Usage") + "  parlance VERB [options]\n\n" + heading(io, "Verbs");
  for (const Command& command : commands) text += entry(command.name, command.summary, 14, width_of(io));
  text += "\n" + heading(io, "Options");
  text +=
      entry("-h, --help", "This text; after a verb, what the verb does and its options.", 14, width_of(io));
  text += entry("--version", "The version of this program.", 14, width_of(io));
  text += "\n" + wrap("Start with 'parlance chat'. If something is amiss, 'parlance doctor' says what to do.",
                      width_of(io), 0);
  return text + "\n";
}

std::string help_of(const Console& io, const Command& command) {
  const size_t width = width_of(io);
  std::string text = heading(io, "Usage") + "  " + usage_of(command) + "\n\n";
  text += paragraphs(command.description, width);
  if (!command.sub_verbs.empty()) {
    text += heading(io, "Verbs");
    for (const Command& sub : command.sub_verbs) text += entry(sub.name, sub.summary, kNameColumn, width);
    text += "\n";
  }
  if (!command.positionals.empty()) {
    text += heading(io, "Arguments");
    for (const Option& positional : command.positionals) {
      text += entry(positional.names, explanation_of(positional), kNameColumn, width);
    }
    text += "\n";
  }
  for (const OptionGroup& group : command.groups) {
    text += heading(io, group.title);
    for (const Option& option : group.options) {
      const std::string name = option.value.empty() ? option.names : option.names + " " + option.value;
      text += entry(name, explanation_of(option), kNameColumn, width);
    }
    if (&group == &command.groups.back()) text += entry("-h, --help", "This text.", kNameColumn, width);
    text += "\n";
  }
  return text + examples_of(io, command.examples);
}

}  // namespace parlance
