// Tables of text: columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/console.h"

namespace parlance {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::right;
  };

  explicit Table(std::vector<Column> columns);

  // As many cells as columns. Cells are UTF-8 and are shown as they are.
  void add(std::vector<std::string> cells);
  size_t n_rows() const { return rows_.size(); }

  // Titles, a rule, and the rows, indented by two spaces.
  std::string text(const Console& io) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace parlance
