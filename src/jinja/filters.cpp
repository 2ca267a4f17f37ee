#include "jinja/filters.h"

namespace parlance::jinja {

const Filter* find_filter(std::string_view name) {
  for (const auto filters : {text_filters(), number_filters(), sequence_filters(), selection_filters()}) {
    for (const Filter& filter : filters) {
      if (filter.name == name) return &filter;
    }
  }
  return nullptr;
}

}  // namespace parlance::jinja
