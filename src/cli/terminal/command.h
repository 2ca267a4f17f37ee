// A verb of the command line as data: what it is called, what it says of itself, the options it takes, and
// the function that does it. Parsing (command_line.cpp) and help texts (help.cpp) read the same table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/terminal/console.h"

namespace parlance {

struct Option {
  std::string names;     // every spelling, "-t, --threads"; of a positional its name in capitals, "FILE"
  std::string value;     // what follows, "N"; empty: a flag
  std::string help;      // one or two sentences, without the default
  std::string fallback;  // the default as the help shows it; empty: not worth a word
  std::function<Result<void>(const std::string& text)> set;  // a flag is given "true"
  bool repeatable = false;
  bool required = false;   // positionals only
  bool is_secret = false;  // its value is never shown
  // Of an option that names a model: where the name is put. One of a hub is fetched before the command runs.
  const std::string* model = nullptr;
};

// What an option came to have, and where from: "--port", "PARLANCE_PORT", "--config FILE", or "default".
struct Setting {
  std::string name;  // "port"
  std::vector<std::string> values;
  std::string source;
  bool is_secret = false;
};

struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};

struct Example {
  std::string command;
  std::string meaning;
};

struct Command {
  std::string name;
  std::string summary;      // one line, for the overview
  std::string description;  // paragraphs separated by empty lines
  std::vector<Example> examples;
  std::vector<Option> positionals;  // in order
  std::vector<OptionGroup> groups;
  // Whether options that are not given may come from the environment, as PARLANCE_ and their name in
  // capitals, and then from the file that its option --config names: lines "name = value", alone or in a
  // section of the command's name.
  bool has_settings = false;
  // Told of all options, in the order of the help, before they are checked against each other; null: nobody
  // is.
  std::function<void(std::vector<Setting>)> on_settings;
  std::function<Result<void>()> check;          // of options against each other: errors of usage
  std::function<Result<int>(Console& io)> run;  // yields the exit code
  // What follows this command's name instead of its arguments, each with options of its own; their names have
  // both words, "eval vad".
  std::vector<Command> sub_verbs;
};

// The spellings of an option: "-t, --threads" -> {"-t", "--threads"}.
std::vector<std::string> spellings(const Option& option);
// The one that messages use: the first long spelling.
std::string main_name(const Option& option);

// Options that write to a variable, which must outlive the command. The variable's present value is the
// default. Errors name the option, the range and what was found.

Option flag(std::string names, std::string help, bool& target);
Option text_option(std::string names, std::string value, std::string help, std::string& target);
// The same for a model, which may have a hub's name.
Option model_text_option(std::string names, std::string value, std::string help, std::string& target);
Option list_option(std::string names, std::string value, std::string help, std::vector<std::string>& target);

// Numbers in [min, max]. Defined for int, int64_t, uint64_t, float and double.
template <class T>
Option number_option(std::string names, std::string value, std::string help, T& target, T min, T max);
// The same, left empty when the option is not given.
template <class T>
Option number_option(std::string names, std::string value, std::string help, std::optional<T>& target, T min,
                     T max);
// "512,2048": replaces the whole list.
Option number_list_option(std::string names, std::string value, std::string help,
                          std::vector<int64_t>& target, int64_t min, int64_t max);

// A value that `parse` finds by name, and the names it knows ("f16, q8_0").
template <class T>
Option choice_option(std::string names, std::string value, std::string help, std::string choices, T& target,
                     std::optional<T> (*parse)(std::string_view), std::string fallback) {
  Option option{.names = std::move(names),
                .value = std::move(value),
                .help = std::move(help),
                .fallback = std::move(fallback),
                .set = {}};
  option.set = [name = main_name(option), choices = std::move(choices), &target,
                parse](const std::string& text) -> Result<void> {
    const std::optional<T> value = parse(text);
    if (!value) {
      return fail(ErrorCode::invalid_argument, "{}: '{}' is not one of {}", name, text, choices);
    }
    target = *value;
    return {};
  };
  return option;
}

}  // namespace parlance
