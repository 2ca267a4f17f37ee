// Quantities, tables and text for terminals.
#include <sstream>

#include "cli/terminal/console.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"
#include "support/fixtures.h"

namespace parlance {
namespace {

TEST(Units, HaveThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(12.5 * 1024 * 1024), "12.5 MiB");
  EXPECT_EQ(format_bytes(1023.9 * 1024), "1.00 MiB");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(12'000'000), "12.0 M");
  EXPECT_EQ(format_ms(0.354), "0.35 ms");
  EXPECT_EQ(format_ms(999.4), "999 ms");
  EXPECT_EQ(format_ms(1200), "1.20 s");
  EXPECT_EQ(format_rate(9.996), "10.0");
  EXPECT_EQ(format_rate(1240.4), "1240");
  EXPECT_EQ(format_percent(0.042), "4.2 %");
  EXPECT_EQ(format_percent(0.734), "73 %");
}

TEST(Table, AlignsByCodePoints) {
  std::istringstream in;
  std::ostringstream out, err;
  const Console io{.in = in, .out = out, .err = err};
  Table table({{"name", Table::Align::left}, {"n", Table::Align::right}});
  table.add({"äöü", "1"});
  table.add({"a", "100"});
  EXPECT_EQ(table.text(io),
            "  name    n\n"
            "  ---------\n"
            "  äöü     1\n"
            "  a     100\n");
}

TEST(Shorten, CutsAtACodePoint) {
  EXPECT_EQ(shorten("äöü", 3), "äöü");
  EXPECT_EQ(shorten("äöüa", 3), "äö…");
  EXPECT_EQ(shorten("abc", 1), "…");
}

TEST(Printable, KeepsTheTerminalAsItIs) {
  EXPECT_EQ(printable("a\x1b[31mb\nc\td\x7f"), "a [31mb c\td ");
  EXPECT_EQ(printable("a\nb", Lines::many), "a\nb");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m ä"),
            " 31m ä");
}

TEST(Console, PaintsOnlyWhereThereAreColours) {
  std::istringstream in;
  std::ostringstream out, err;
  Console io{.in = in, .out = out, .err = err};
  EXPECT_EQ(io.styled(Style::bold, "x"), "x");
  io.out_has_colour = true;
  EXPECT_EQ(io.styled(Style::bold, "x"), "\x1b[1mx\x1b[0m");
}

}  // namespace
}  // namespace parlance
