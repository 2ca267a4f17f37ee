#include "cli/terminal/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/parse_number.h"

namespace parlance {

namespace {

constexpr size_t kMaxListedNumbers = 64;

template <class T>
constexpr std::string_view kKindOf = std::is_integral_v<T> ? "a whole number" : "a number";

template <class T>
Result<T> parse_in_range(const std::string& name, std::string_view text, T min, T max) {
  const std::optional<T> value = parse_number<T>(text);
  if (value && *value >= min && *value <= max) return *value;
  const bool has_bound = max < std::numeric_limits<T>::max();
  const std::string range =
      has_bound ? fmt::format("from {} to {}", min, max) : fmt::format("of at least {}", min);
  return fail(ErrorCode::invalid_argument, "{}: expected {} {}, got '{}'", name, kKindOf<T>, range, text);
}

template <class T>
Option make_number_option(std::string names, std::string value, std::string help) {
  return {.names = std::move(names),
          .value = std::move(value),
          .help = std::move(help),
          .fallback = {},
          .set = {}};
}

}  // namespace

std::vector<std::string> spellings(const Option& option) {
  std::vector<std::string> names;
  for (size_t start = 0; start < option.names.size();) {
    const size_t end = std::min(option.names.find(", ", start), option.names.size());
    names.push_back(option.names.substr(start, end - start));
    start = end + 2;
  }
  return names;
}

std::string main_name(const Option& option) {
  const auto names = spellings(option);
  const auto is_long = [](const std::string& name) { return name.starts_with("--"); };
  const auto found = std::find_if(names.begin(), names.end(), is_long);
  return found != names.end() ? *found : names.front();
}

Option flag(std::string names, std::string help, bool& target) {
  Option option{.names = std::move(names), .value = {}, .help = std::move(help), .fallback = {}, .set = {}};
  option.set = [&target](const std::string&) -> Result<void> {
    target = true;
    return {};
  };
  return option;
}

Option text_option(std::string names, std::string value, std::string help, std::string& target) {
  Option option{.names = std::move(names),
                .value = std::move(value),
                .help = std::move(help),
                .fallback = target,
                .set = {}};
  option.set = [&target](const std::string& text) -> Result<void> {
    target = text;
    return {};
  };
  return option;
}

Option model_text_option(std::string names, std::string value, std::string help, std::string& target) {
  Option option = text_option(std::move(names), std::move(value), std::move(help), target);
  option.model = &target;
  return option;
}

Option list_option(std::string names, std::string value, std::string help, std::vector<std::string>& target) {
  Option option{.names = std::move(names),
                .value = std::move(value),
                .help = std::move(help),
                .fallback = {},
                .set = {},
                .repeatable = true};
  option.set = [&target](const std::string& text) -> Result<void> {
    target.push_back(text);
    return {};
  };
  return option;
}

template <class T>
Option number_option(std::string names, std::string value, std::string help, T& target, T min, T max) {
  Option option = make_number_option<T>(std::move(names), std::move(value), std::move(help));
  option.fallback = fmt::format("{}", target);
  option.set = [name = main_name(option), &target, min, max](const std::string& text) -> Result<void> {
    PARLANCE_TRY(target, parse_in_range(name, text, min, max));
    return {};
  };
  return option;
}

template <class T>
Option number_option(std::string names, std::string value, std::string help, std::optional<T>& target, T min,
                     T max) {
  Option option = make_number_option<T>(std::move(names), std::move(value), std::move(help));
  option.set = [name = main_name(option), &target, min, max](const std::string& text) -> Result<void> {
    PARLANCE_TRY(target, parse_in_range(name, text, min, max));
    return {};
  };
  return option;
}

template Option number_option(std::string, std::string, std::string, int&, int, int);
template Option number_option(std::string, std::string, std::string, int64_t&, int64_t, int64_t);
template Option number_option(std::string, std::string, std::string, uint64_t&, uint64_t, uint64_t);
template Option number_option(std::string, std::string, std::string, float&, float, float);
template Option number_option(std::string, std::string, std::string, double&, double, double);
template Option number_option(std::string, std::string, std::string, std::optional<int64_t>&, int64_t,
                              int64_t);
template Option number_option(std::string, std::string, std::string, std::optional<uint64_t>&, uint64_t,
                              uint64_t);
template Option number_option(std::string, std::string, std::string, std::optional<double>&, double, double);
template Option number_option(std::string, std::string, std::string, std::optional<float>&, float, float);
template Option number_option(std::string, std::string, std::string, std::optional<int>&, int, int);

Option number_list_option(std::string names, std::string value, std::string help,
                          std::vector<int64_t>& target, int64_t min, int64_t max) {
  Option option{.names = std::move(names),
                .value = std::move(value),
                .help = std::move(help),
                .fallback = {},
                .set = {}};
  option.fallback = fmt::format("{}", fmt::join(target, ","));
  option.set = [name = main_name(option), &target, min, max](const std::string& text) -> Result<void> {
    std::vector<int64_t> numbers;
    for (size_t start = 0; start <= text.size();) {
      const size_t end = std::min(text.find(',', start), text.size());
      PARLANCE_TRY(const int64_t number,
                   parse_in_range(name, std::string_view(text).substr(start, end - start), min, max));
      if (numbers.size() == kMaxListedNumbers) {
        return fail(ErrorCode::invalid_argument, "{}: more than {} numbers; give fewer", name,
                    kMaxListedNumbers);
      }
      numbers.push_back(number);
      start = end + 1;
    }
    target = std::move(numbers);
    return {};
  };
  return option;
}

}  // namespace parlance
