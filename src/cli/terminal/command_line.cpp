// The one file that includes CLI11, which splits words into options and values; what values mean, and what is
// said when they do not fit, is ours.
#include "cli/terminal/command_line.h"
#include "text/nearest.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <list>
#include <sstream>

#include "base/ascii.h"
#include "base/os/environment.h"
#include "base/os/file.h"

namespace parlance {

namespace {

// An option as CLI11 knows it and the texts that it was given.
struct Bound {
  const Option* option;
  CLI::Option* parsed;
  std::vector<std::string> values;
  int64_t times = 0;   // that a flag was given
  std::string source;  // where the values come from; empty: the command line
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
      Bound& bound = all.emplace_back(Bound{&option, nullptr, {}, 0, {}});
      if (option.value.empty()) {
        bound.parsed = app.add_flag(names_for_cli11(option), bound.times);
      } else {
        bind_value(app, bound, names_for_cli11(option));
      }
    }
  }
  for (const Option& positional : command.positionals) {
    Bound& bound = all.emplace_back(Bound{&positional, nullptr, {}, 0, {}});
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

Result<void> set_from(const Bound& bound, const std::string& value) {
  const Result<void> done = bound.option->set(value);
  if (done || bound.source.empty()) return done;
  return fail(done.error().code, "{}: {}", bound.source, done.error().message);
}

Result<void> apply(const Bound& bound) {
  if (bound.option->value.empty() && bound.times > 0) PARLANCE_CHECK(set_from(bound, "true"));
  for (const std::string& value : bound.values) PARLANCE_CHECK(set_from(bound, value));
  if (bound.option->required && bound.parsed->count() == 0) {
    return fail(ErrorCode::invalid_argument, "{} is missing", bound.option->names);
  }
  return {};
}

// Values of an option that the command line does not give.
Result<void> give(Bound& bound, std::vector<std::string> values, std::string source) {
  if (bound.option->value.empty()) {
    const std::string& word = values.empty() ? "true" : values.back();
    if (word != "true" && word != "false" && word != "1" && word != "0") {
      return fail(ErrorCode::invalid_argument, "{}: {} is true or false, got '{}'", source,
                  main_name(*bound.option), word);
    }
    bound.times = word == "true" || word == "1";
  } else {
    if (!bound.option->repeatable && values.size() > 1) values.erase(values.begin(), values.end() - 1);
    bound.values = std::move(values);
  }
  bound.source = std::move(source);
  return {};
}

bool is_given(const Bound& bound) {
  return bound.parsed->count() > 0 || !bound.source.empty();
}

// "--api-key-file" -> "PARLANCE_API_KEY_FILE". A model that the environment names has a meaning of its own.
std::string variable_of(const Option& option) {
  const std::string name = main_name(option);
  if (!name.starts_with("--") || name == "--model") return {};
  std::string variable = "PARLANCE_";
  for (const char c : name.substr(2)) variable += c == '-' ? '_' : ascii::to_upper(c);
  return variable;
}

Result<void> take_environment(std::list<Bound>& all) {
  for (Bound& bound : all) {
    const std::string variable = variable_of(*bound.option);
    if (is_given(bound) || variable.empty()) continue;
    const auto value = environment(variable.c_str());
    if (value && !value->empty()) PARLANCE_CHECK(give(bound, {*value}, variable));
  }
  return {};
}

// The lines of a file that are for a command.
Result<std::vector<CLI::ConfigItem>> read_settings(const std::string& command, const std::string& path) {
  PARLANCE_TRY(const std::string text, read_text_file(path, size_t{1} << 20));
  std::vector<CLI::ConfigItem> items;
  try {
    std::istringstream lines(text);
    items = CLI::ConfigINI().from_config(lines);
  } catch (const CLI::Error& error) {
    return fail(ErrorCode::invalid_argument, "--config {}: {}", path, error.what());
  }
  std::erase_if(items, [&](const CLI::ConfigItem& item) {
    const bool is_mark = item.name == "++" || item.name == "--";  // a section begins or ends
    return is_mark || (!item.parents.empty() && item.parents != std::vector{command});
  });
  return items;
}

std::vector<Setting> settings_of(const std::list<Bound>& all) {
  std::vector<Setting> settings;
  for (const Bound& bound : all) {
    const std::string name = main_name(*bound.option);
    // Those that say where settings are and that they are to be shown are none.
    if (!name.starts_with("--") || name == "--config" || name == "--print-config") continue;
    Setting& one =
        settings.emplace_back(Setting{.name = name.substr(2), .values = bound.values, .source = {}});
    one.is_secret = bound.option->is_secret;
    if (bound.option->value.empty()) one.values = {bound.times > 0 ? "true" : "false"};
    one.source = !bound.source.empty() ? bound.source : bound.parsed->count() > 0 ? name : "default";
    if (one.values.empty() && !bound.option->fallback.empty()) one.values = {bound.option->fallback};
  }
  return settings;
}

Result<void> take_file(const Command& command, std::list<Bound>& all) {
  const auto named =
      std::find_if(all.begin(), all.end(), [](const Bound& b) { return main_name(*b.option) == "--config"; });
  if (named == all.end() || named->values.empty()) return {};
  const std::string path = named->values.back();
  PARLANCE_TRY(const auto items, read_settings(command.name, path));
  for (const CLI::ConfigItem& item : items) {
    const auto bound = std::find_if(all.begin(), all.end(), [&](const Bound& b) {
      return main_name(*b.option) == "--" + item.name && item.name != "config";
    });
    if (bound == all.end()) {
      return fail(ErrorCode::invalid_argument,
                  "--config {}: there is no option {}; 'parlance {} --help' lists them", path, item.name,
                  command.name);
    }
    if (!is_given(*bound)) PARLANCE_CHECK(give(*bound, item.inputs, fmt::format("--config {}", path)));
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

Result<std::vector<std::string>> setting_in_file(const std::string& command, const std::string& path,
                                                 const std::string& name) {
  PARLANCE_TRY(const auto items, read_settings(command, path));
  std::vector<std::string> values;
  for (const CLI::ConfigItem& item : items) {
    if (item.name == name) values.insert(values.end(), item.inputs.begin(), item.inputs.end());
  }
  return values;
}

std::string settings_text(std::span<const Setting> settings) {
  std::string text;
  for (const Setting& setting : settings) {
    std::string values;
    for (const std::string& value : setting.values) {
      const char quote = value.find('"') == std::string::npos ? '"' : '\'';
      values += fmt::format("{}{}{}{}", values.empty() ? "" : ", ", quote, value, quote);
    }
    if (setting.values.size() > 1) values = '[' + values + ']';
    const bool is_hidden = setting.is_secret && !setting.values.empty();
    // What has no value, or is in words, is no line that could be read again.
    const char* const mark = setting.source == "default" || is_hidden || values.empty() ? "# " : "";
    text +=
        fmt::format("# {}\n{}{} = {}\n", setting.source, mark, setting.name, is_hidden ? "(hidden)" : values);
  }
  return text;
}

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
  if (command.has_settings) {
    PARLANCE_CHECK(take_environment(all));
    PARLANCE_CHECK(take_file(command, all));
  }
  for (const Bound& bound : all) PARLANCE_CHECK(apply(bound));
  if (command.on_settings) command.on_settings(settings_of(all));
  if (command.check) PARLANCE_CHECK(command.check());
  return ParsedLine{};
}

}  // namespace parlance
