// The one file that includes CLI11, which splits words into options and values; what values mean, and what is
// said when they do not fit, is ours.
#include "cli/terminal/command_line.h"
#include "text/nearest.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <list>

namespace parlance {

namespace {

// An option as CLI11 knows it and the texts that it was given.
struct Bound {
  const Option* option;
  CLI::Option* parsed;
  std::vector<std::string> values;
  int64_t times = 0;  // that a flag was given
};

bool is_multi_letter_short(const std::string& name) {
  return name.size() > 2 && name[0] == '-' && name[1] != '-';
}

// CLI11 reads "-ctk" as "-c tk". Such spellings (as users of llama.cpp know them) are rewritten before it
// looks.
std::vector<std::string> rewrite_spellings(const Command& command, std::span<const std::string> arguments) {
  std::vector<std::string> words(arguments.begin(), arguments.end());
  for (std::string& word : words) {
    if (word == "--") break;
    for (const OptionGroup& group : command.groups) {
      for (const Option& option : group.options) {
        const auto names = spellings(option);
        if (is_multi_letter_short(word) && std::find(names.begin(), names.end(), word) != names.end()) {
          word = main_name(option);
        }
      }
    }
  }
  return words;
}

std::string names_for_cli11(const Option& option) {
  std::string names;
  for (const std::string& name : spellings(option)) {
    if (!is_multi_letter_short(name)) names += (names.empty() ? "" : ",") + name;
  }
  return names;
}

void bind_value(CLI::App& app, Bound& bound, const std::string& names) {
  bound.parsed = app.add_option(names, bound.values);
  bound.parsed->expected(1)->allow_extra_args(false);
  bound.parsed->multi_option_policy(bound.option->repeatable ? CLI::MultiOptionPolicy::TakeAll
                                                             : CLI::MultiOptionPolicy::TakeLast);
}

std::list<Bound> bind(CLI::App& app, const Command& command) {
  std::list<Bound> all;  // addresses stay: CLI11 keeps them
  for (const OptionGroup& group : command.groups) {
    for (const Option& option : group.options) {
      Bound& bound = all.emplace_back(Bound{&option, nullptr, {}});
      if (option.value.empty()) {
        bound.parsed = app.add_flag(names_for_cli11(option), bound.times);
      } else {
        bind_value(app, bound, names_for_cli11(option));
      }
    }
  }
  for (const Option& positional : command.positionals) {
    Bound& bound = all.emplace_back(Bound{&positional, nullptr, {}});
    bind_value(app, bound, positional.names);
    if (positional.repeatable) bound.parsed->expected(-1);  // any number of words in a row
  }
  return all;
}

tl::unexpected<Error> unknown_word(const Command& command, const std::string& word) {
  if (!word.starts_with('-')) {
    return fail(ErrorCode::invalid_argument, "'{}' is one argument too many", word);
  }
  std::vector<std::string> known;
  for (const OptionGroup& group : command.groups) {
    for (const Option& option : group.options) {
      for (std::string& name : spellings(option)) known.push_back(std::move(name));
    }
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string guess = nearest(name, known);
  return fail(ErrorCode::invalid_argument, "there is no option {}{}", name,
              guess.empty() ? "" : fmt::format("; did you mean {}?", guess));
}

Result<void> apply(const Bound& bound) {
  if (bound.option->value.empty() && bound.times > 0) PARLANCE_CHECK(bound.option->set("true"));
  for (const std::string& value : bound.values) PARLANCE_CHECK(bound.option->set(value));
  if (bound.option->required && bound.parsed->count() == 0) {
    return fail(ErrorCode::invalid_argument, "{} is missing", bound.option->names);
  }
  return {};
}

// What CLI11 itself finds wrong, in our words.
tl::unexpected<Error> rephrase(const CLI::ParseError& error, const std::list<Bound>& all) {
  for (const Bound& bound : all) {
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) && bound.parsed->count() == 0 &&
        std::string_view(error.what()).starts_with(bound.parsed->get_name() + ":")) {
      return fail(ErrorCode::invalid_argument, "{} needs a value ({})", main_name(*bound.option),
                  bound.option->value);
    }
  }
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  return fail(ErrorCode::invalid_argument, "{}", message);
}

}  // namespace

Result<ParsedLine> parse_command_line(const Command& command, std::span<const std::string> arguments) {
  CLI::App app;
  app.allow_extras();
  app.set_help_flag("-h,--help");
  std::list<Bound> all = bind(app, command);
  try {
    std::vector<std::string> words = rewrite_spellings(command, arguments);
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return ParsedLine{.wants_help = true};
  } catch (const CLI::ParseError& error) {
    return rephrase(error, all);
  }
  std::vector<std::string> extras = app.remaining();
  std::erase(extras, "--");  // the mark itself is among them
  if (!extras.empty()) return unknown_word(command, extras.front());
  for (const Bound& bound : all) PARLANCE_CHECK(apply(bound));
  if (command.check) PARLANCE_CHECK(command.check());
  return ParsedLine{};
}

}  // namespace parlance
