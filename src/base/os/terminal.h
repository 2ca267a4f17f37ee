// The process's standard streams, as far as they are terminals.
#pragma once

#include <optional>

namespace parlance {

enum class StandardStream { in, out, err };

bool is_terminal(StandardStream stream);

// Columns of the terminal that standard output is; none where it is not one, or does not say.
std::optional<int> terminal_columns();

}  // namespace parlance
