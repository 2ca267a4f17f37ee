#include "cli/terminal/table.h"

#include <algorithm>
#include <cassert>

namespace parlance {

namespace {

std::string padded(const std::string& cell, size_t width, Table::Align align) {
  const std::string space(width - std::min(width, display_width(cell)), ' ');
  return align == Table::Align::left ? cell + space : space + cell;
}

std::string without_trailing_space(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(const Console& io) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = display_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  const auto line = [&](auto cell_of) {
    std::string text = " ";
    for (size_t c = 0; c < columns_.size(); ++c)
      text += " " + padded(cell_of(c), widths[c], columns_[c].align) + " ";
    return without_trailing_space(text);
  };
  std::string text = io.styled(Style::bold, line([&](size_t c) { return columns_[c].title; })) + "\n";
  size_t width = 2 * columns_.size() - 2;
  for (const size_t w : widths) width += w;
  text += "  " + io.styled(Style::dim, std::string(width, '-')) + "\n";
  for (const auto& row : rows_) text += line([&](size_t c) { return row[c]; }) + "\n";
  return text;
}

}  // namespace parlance
