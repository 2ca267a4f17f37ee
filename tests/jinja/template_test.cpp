// What templates can say, beyond the recorded examples; and how they fail.
#include "jinja/template.h"

#include <thread>

#include "jinja/rendering.h"

namespace parlance {
namespace {

using test::error_of;
using test::rendered;

// ---- White space ----

TEST(TemplateWhiteSpace, PlusKeepsWhatBlocksWouldStrip) {
  EXPECT_EQ(rendered("a\n  {%+ if true %}b{% endif +%}\nc"), "a\n  b\nc");
  EXPECT_EQ(rendered("  {#+ c +#}\n."), "  \n.");
}

TEST(TemplateWhiteSpace, OutputTagsKeepTheirLine) {
  EXPECT_EQ(rendered("  {{ 1 }}\n."), "  1\n.");
}

TEST(TemplateWhiteSpace, DashesReachAcrossLinesAndUnicodeSpaces) {
  EXPECT_EQ(rendered("a\u2003\n\t{%- if true -%}\u00a0\n b{% endif %}"), "ab");
}

TEST(TemplateWhiteSpace, LineEndsBecomeNewlines) {
  EXPECT_EQ(rendered("a\r\nb\rc\r\n"), "a\nb\nc");
}

TEST(TemplateWhiteSpace, OneNewlineAtTheEndIsDropped) {
  EXPECT_EQ(rendered("a\n\n"), "a\n");
}

TEST(TemplateWhiteSpace, RawTextIsNotRead) {
  EXPECT_EQ(rendered("{% raw %}{{ x }}{% if %}{# c #}{% endraw %}."), "{{ x }}{% if %}{# c #}.");
  EXPECT_EQ(rendered("a {%- raw -%} b {%- endraw -%} c"), "abc");
}

// ---- Scopes ----

TEST(TemplateScope, AConditionSharesTheScopeAroundIt) {
  EXPECT_EQ(rendered("{% if true %}{% set a = 1 %}{% endif %}{{ a }}"), "1");
}

TEST(TemplateScope, LoopsSetBlocksAndWithHaveTheirOwn) {
  EXPECT_EQ(rendered("{% set a = 0 %}{% for x in [1] %}{% set a = 1 %}{% endfor %}{{ a }}"), "0");
  EXPECT_EQ(rendered("{% set a = 0 %}{% set b %}{% set a = 1 %}{{ a }}{% endset %}{{ a }}{{ b }}"), "01");
  EXPECT_EQ(rendered("{% set a = 0 %}{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}"), "100");
}

TEST(TemplateScope, AMacroSeesTheScopeItWasDefinedIn) {
  EXPECT_EQ(
      rendered("{% macro f() %}{{ a }}{% endmacro %}{% set a = 1 %}{% for a in [2] %}{{ f() }}{% endfor %}"),
      "1");
}

TEST(TemplateScope, VariablesHideGlobals) {
  EXPECT_EQ(rendered("{{ range }}", R"({"range": "mine"})"), "mine");
}

TEST(TemplateScope, AMacroCanOutliveItsIteration) {
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% for x in [1, 2] %}{% macro f() %}{{ x }}{% endmacro %}"
                     "{% if loop.first %}{% set ns.f = f %}{% endif %}{% endfor %}{{ ns.f() }}"),
            "1");
}

// ---- Loops ----

TEST(TemplateLoop, ConditionsAreAskedAsTheLoopGoes) {
  EXPECT_EQ(rendered("{% set ns = namespace(seen=false) %}"
                     "{% for x in [1, 2, 3] if not ns.seen %}{{ x }}{% set ns.seen = x == 2 %}{% endfor %}"),
            "12");
}

TEST(TemplateLoop, ConditionsCountOnlyWhatTheySelect) {
  EXPECT_EQ(
      rendered("{% for x in range(6) if x is odd %}{{ loop.index }}/{{ loop.length }}{{ loop.previtem }}"
               "{{ '.' if loop.last else loop.nextitem }} {% endfor %}"),
      "1/33 2/315 3/33. ");
}

TEST(TemplateLoop, ElseRunsUnlessAnIterationCameToItsEnd) {
  EXPECT_EQ(rendered("{% for x in [1, 2] %}{% continue %}{% else %}e{% endfor %}"), "e");
  EXPECT_EQ(rendered("{% for x in [1, 2] %}{{ x }}{% break %}{% else %}e{% endfor %}"), "1e");
  EXPECT_EQ(rendered("{% for x in [1, 2] %}{{ x }}{% else %}e{% endfor %}"), "12");
}

TEST(TemplateLoop, RecursionOverATree) {
  EXPECT_EQ(rendered("{% for n in t recursive %}{{ n.k }}{{ loop.depth0 }}({{ loop(n.c) }}){% endfor %}",
                     R"({"t": [{"k": "a", "c": [{"k": "b", "c": []}]}, {"k": "c", "c": []}]})"),
            "a0(b1())c0()");
}

TEST(TemplateLoop, CycleAndChanged) {
  EXPECT_EQ(rendered("{% for x in [1, 1, 2] %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x) }} {% endfor %}"),
            "aTrue bFalse aTrue ");
}

TEST(TemplateLoop, BreakLeavesThroughBlocks) {
  EXPECT_EQ(rendered("{% for x in [1, 2] %}{{ x }}{% set y %}z{% break %}{% endset %}{% endfor %}."), "1.");
}

// ---- Macros ----

TEST(TemplateMacro, CallBlocksPassTheirBody) {
  EXPECT_EQ(
      rendered("{% macro m(a) %}<{{ caller(a) }}>{% endmacro %}{% call(x) m(3) %}{{ x * 2 }}{% endcall %}"),
      "<6>");
}

TEST(TemplateMacro, TakesTheRestOfItsArguments) {
  EXPECT_EQ(rendered("{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, b=3) }}"),
            "1(2,){'b': 3}");
  EXPECT_EQ(rendered("{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1], **{'b': 2}) }}"), "12");
}

TEST(TemplateMacro, DefaultsSeeTheOtherParameters) {
  EXPECT_EQ(rendered("{% macro m(a, b=a + 1) %}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 5) }}"), "25");
}

TEST(TemplateMacro, WrongArgumentsNameTheMacro) {
  EXPECT_NE(error_of("{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}").message.find("macro 'm'"),
            std::string::npos);
  EXPECT_NE(error_of("{% macro m(a) %}{% endmacro %}{{ m(c=2) }}").message.find("'c'"), std::string::npos);
}

TEST(TemplateMacro, RecursionRendersNestedData) {
  EXPECT_EQ(
      rendered("{% macro show(v) %}{% if v is mapping %}{% for k, x in v.items() %}{{ k }}:{{ show(x) }};"
               "{% endfor %}{% else %}{{ v }}{% endif %}{% endmacro %}{{ show(d) }}",
               R"({"d": {"a": {"b": 1, "c": {"d": 2}}}})"),
      "a:b:1;c:d:2;;;");
}

// ---- Values ----

TEST(TemplateValue, KeysKeepTheirOrderAndTheLastValueWins) {
  EXPECT_EQ(rendered("{{ d }}{{ {'x': 1, 'y': 2, 'x': 3} }}", R"({"d": {"b": 1, "a": 2, "b": 3}})"),
            "{'b': 3, 'a': 2}{'x': 3, 'y': 2}");
}

TEST(TemplateValue, LargeIntegersPassThrough) {
  EXPECT_EQ(rendered("{{ n }}{{ n | tojson }}", R"({"n": 18446744073709551616})"),
            "1844674407370955161618446744073709551616");
  EXPECT_EQ(error_of("{{ n + 1 }}", R"({"n": 18446744073709551616})").code, ErrorCode::unsupported);
  EXPECT_EQ(error_of("{{ 9223372036854775807 + 1 }}").code, ErrorCode::unsupported);
}

TEST(TemplateValue, MethodsComeBeforeKeysBehindADot) {
  EXPECT_EQ(rendered("{{ d.items() | list }}{{ d['items'] }}", R"({"d": {"items": 1}})"), "[('items', 1)]1");
}

TEST(TemplateValue, SafeTextEscapesWhatIsAddedToIt) {
  EXPECT_EQ(rendered("{{ '<a>' | safe + '<b>' }}{{ '<a>' | safe ~ '<b>' }}"), "<a>&lt;b&gt;<a><b>");
}

TEST(TemplateValue, GeneratorsAreWalkedOnce) {
  EXPECT_EQ(rendered("{% set g = [1, 2, 3] | select('odd') %}{{ g | first }}{{ g | list }}{{ g | list }}"),
            "1[3][]");
}

TEST(TemplateValue, ListsCannotBeChanged) {
  const Error error = error_of("{% set l = [] %}{{ l.append(1) }}");
  EXPECT_NE(error.message.find("append"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("immutable"), std::string::npos) << error.message;
}

TEST(TemplateValue, DatesInEnglish) {
  const int64_t leap_day = 951'782'399;  // 28 February 2000, 23:59:59
  EXPECT_EQ(rendered("{{ strftime_now('%A %-d %B %Y %H:%M:%S %j %y %p %I %%') }}", "{}", {}, leap_day),
            "Monday 28 February 2000 23:59:59 059 00 PM 11 %");
  EXPECT_EQ(rendered("{{ strftime_now('%F %T %U %W %G-W%V-%u') }}", "{}", {}, leap_day + 1),
            "2000-02-29 00:00:00 09 09 2000-W09-2");
  const int64_t new_year_2021 = 1'609'459'200;  // a Friday, of the last week of 2020
  EXPECT_EQ(rendered("{{ strftime_now('%G-W%V-%u') }}", "{}", {}, new_year_2021), "2020-W53-5");
  EXPECT_EQ(error_of("{{ strftime_now('%Q') }}").code, ErrorCode::unsupported);
  EXPECT_EQ(error_of("{{ strftime_now('%Y') }}", "{}", {}, INT64_MAX).code, ErrorCode::invalid_argument);
}

TEST(TemplateValue, GenerationBlocksPassThrough) {
  EXPECT_EQ(rendered("{% generation %}a{{ 1 }}{% endgeneration %}"), "a1");
}

// ---- Errors ----

struct Failing {
  const char* source;
  const char* place;
  const char* names;
};

class TemplateError : public testing::TestWithParam<Failing> {};

TEST_P(TemplateError, NamesThePlaceAndTheThing) {
  const Error error = error_of(GetParam().source, R"({"s": "text", "d": {}})");
  EXPECT_NE(error.message.find(GetParam().place), std::string::npos) << error.message;
  EXPECT_NE(error.message.find(GetParam().names), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, TemplateError,
    testing::Values(Failing{"{{ 1 +", "line 1", "'{{'"}, Failing{"a\nb {{ 1 } }}", "line 2, column 8", "'}'"},
                    Failing{"{% if x %}\n{% for y in z %}", "line 2", "'for'"},
                    Failing{"{% if x %}{% endfor %}", "column 14", "'endfor'"},
                    Failing{"{% fro x %}", "line 1", "'fro'"}, Failing{"{{ 'abc }}", "column 4", "quote"},
                    Failing{"{# abc", "line 1, column 1", "'#}'"},
                    Failing{"{% raw %}x", "line 1, column 1", "endraw"},
                    Failing{"{{ a b }}", "column 6", "'b'"}, Failing{"{{ }}", "column 4", "expression"},
                    Failing{"{{ a ? }}", "column 6", "'?'"}, Failing{"é{{ a.$ }}", "column 7", "'$'"},
                    Failing{"{% break %}", "line 1", "'break'"},
                    Failing{"{% set none = 1 %}", "line 1", "'none'"},
                    Failing{"{% macro f(a=1, b) %}{% endmacro %}", "column 17", "default"},
                    Failing{"{{ f(a=1, 2) }}", "column 11", "argument"},
                    Failing{"{% for x in %}{% endfor %}", "line 1", "'%}'"}));

INSTANTIATE_TEST_SUITE_P(Evaluation, TemplateError,
                         testing::Values(Failing{"{{ nope.x }}", "column 8", "'nope' is undefined"},
                                         Failing{"{{ d.a.b }}", "column 7", "'dict' has no attribute 'a'"},
                                         Failing{"\n  {{ 1 + s }}", "line 2, column 8", "'int' and 'str'"},
                                         Failing{"{{ 1 / 0 }}", "line 1", "zero"},
                                         Failing{"{{ s() }}", "column 5", "'str'"},
                                         Failing{"{{ nope() }}", "column 8", "'nope'"},
                                         Failing{"{{ s | frobnicate }}", "column 8", "'frobnicate'"},
                                         Failing{"{{ s is frobnicated }}", "column 6", "'frobnicated'"},
                                         Failing{"{{ s | replace('a') }}", "line 1", "'new'"},
                                         Failing{"{{ s | trim(x=1) }}", "line 1", "'x'"},
                                         Failing{"{% for x in 5 %}{% endfor %}", "line 1", "'int'"},
                                         Failing{"{% set s.x = 1 %}", "line 1", "'s'"},
                                         Failing{"{% set a, b = [1] %}", "line 1", "1 values"},
                                         Failing{"{{ [1, 'a'] | sort }}", "line 1", "'<'"},
                                         Failing{"{{ {[]: 1} }}", "line 1", "'list'"},
                                         Failing{"{{ nope | tojson }}", "line 1", "tojson"},
                                         Failing{"{{ raise_exception('a\nb') }}", "line 1", "a b"}));

class TemplateUnsupported : public testing::TestWithParam<Failing> {};

TEST_P(TemplateUnsupported, IsAnErrorThatSaysSo) {
  const Error error = error_of(GetParam().source, R"({"s": "text", "d": {}})");
  EXPECT_EQ(error.code, ErrorCode::unsupported) << error.message;
  EXPECT_NE(error.message.find(GetParam().place), std::string::npos) << error.message;
  EXPECT_NE(error.message.find(GetParam().names), std::string::npos) << error.message;
}

INSTANTIATE_TEST_SUITE_P(Constructs, TemplateUnsupported,
                         testing::Values(Failing{"{% include 'x' %}", "line 1", "'include'"},
                                         Failing{"{% import 'x' as y %}", "line 1", "'import'"},
                                         Failing{"{% extends 'x' %}", "line 1", "'extends'"},
                                         Failing{"{% block b %}{% endblock %}", "line 1", "'block'"},
                                         Failing{"{% do x %}", "line 1", "'do'"},
                                         Failing{"{{ s | pprint }}", "line 1", "'pprint'"},
                                         Failing{"{{ s.encode('utf-8') }}", "line 1", "'encode'"},
                                         Failing{"{{ cycler(1) }}", "line 1", "'cycler'"},
                                         Failing{"{{ range(3) }}", "line 1", "range"},
                                         Failing{"{{ [1] | map('string') }}", "line 1", "generator"},
                                         Failing{"{{ s is sameas s }}", "line 1", "'sameas'"},
                                         Failing{"{{ '\\ud83d' }}", "column 5", "\\u"},
                                         Failing{"{{ 99999999999999999999 }}", "column 4", "64 bits"},
                                         Failing{"{{ '{:>4}'.format(1) }}", "line 1", "format"}));

TEST(TemplateSource, MustBeUtf8) {
  const Error error = error_of("abc\xff");
  EXPECT_EQ(error.code, ErrorCode::corrupt_file);
  EXPECT_NE(error.message.find("byte 3"), std::string::npos) << error.message;
}

TEST(TemplateVariables, MustBeAnObjectOfJson) {
  EXPECT_NE(error_of("", "{\"a\": }").message.find("byte 7"), std::string::npos);
  EXPECT_NE(error_of("", "[1]").message.find("'list'"), std::string::npos);
  EXPECT_NE(error_of("", "").message.find("JSON"), std::string::npos);
  EXPECT_NE(error_of("", "{\"a\": \"\xff\"}").message.find("JSON"), std::string::npos);
}

// ---- Limits ----

std::string repeated(std::string_view text, size_t n) {
  std::string result;
  for (size_t i = 0; i < n; ++i) result += text;
  return result;
}

TEST(TemplateLimit, SourceOfAnyNestingIsRefusedOrRead) {
  for (const char* opening : {"(", "[", "{", "-", "not ", "x(", "x[", "x|f(", "(1+2*3**("}) {
    const auto parsed = ChatTemplate::parse("{{ " + repeated(opening, (1u << 20) / 10));
    ASSERT_FALSE(parsed.has_value()) << opening;
    EXPECT_NE(parsed.error().message.find("nested"), std::string::npos) << parsed.error().message;
  }
  for (const char* link : {"+1", ".a", "[0]", "|trim", "()", " if 0 else 1", " or 1"}) {
    const auto parsed = ChatTemplate::parse("{{ 1" + repeated(link, (1u << 20) / 20) + " }}");
    ASSERT_FALSE(parsed.has_value()) << link;
    EXPECT_NE(parsed.error().message.find("nested"), std::string::npos) << parsed.error().message;
  }
  EXPECT_EQ(rendered("{{ 1" + repeated("~1", 50'000) + " }}"), repeated("1", 50'001));
  EXPECT_EQ(rendered("{{ 1" + repeated("<=1", 50'000) + " }}"), "True");
  for (const char* tag : {"{% if 1 %}", "{% for x in y %}", "{% set x %}", "{% macro f() %}",
                          "{% call f() %}", "{% filter trim %}", "{% with %}"}) {
    EXPECT_FALSE(ChatTemplate::parse(repeated(tag, 50'000)).has_value()) << tag;
  }
  EXPECT_EQ(rendered("{% if 0 %}" + repeated("{% elif 0 %}", 50'000) + "{% else %}x{% endif %}"), "x");
}

TEST(TemplateLimit, SourceBytes) {
  TemplateLimits limits;
  limits.max_source_bytes = 10;
  EXPECT_TRUE(ChatTemplate::parse("0123456789", limits).has_value());
  const auto parsed = ChatTemplate::parse("0123456789a", limits);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_NE(parsed.error().message.find("10"), std::string::npos) << parsed.error().message;
}

TEST(TemplateLimit, DepthOfVariables) {
  const std::string deep = "{\"a\": " + repeated("[", 100'000) + repeated("]", 100'000) + "}";
  EXPECT_NE(error_of("", deep).message.find("nested"), std::string::npos);
  const std::string fits = "{\"a\": " + repeated("[", 150) + repeated("]", 150) + "}";
  EXPECT_EQ(rendered("{{ a }}", fits), repeated("[", 150) + repeated("]", 150));
}

// Every one of these would take all memory, all time or all stack.
TEST(TemplateLimit, HostileTemplatesEndInAnError) {
  const char* const hostile[] = {
      "{{ 'a' * 10 ** 15 }}",
      "{{ [1] * 10 ** 15 }}",
      "{{ range(10 ** 12) }}",
      "{{ 'x'.center(10 ** 12) }}",
      "{{ '%1000000000s' % 1 }}",
      "{{ '%01000000000d' % 1 }}",
      "{{ '%.1000000000f' % 1.5 }}",
      "{{ [1] | batch(10 ** 12, 0) | list }}",
      "{{ [1] | slice(10 ** 12) | list }}",
      "{{ 'x' | indent(10 ** 12) }}",
      "{{ [1] | tojson(indent=10 ** 12) }}",
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
      "{% for a in range(99999) %}{{ 'abcdefghijklmnopqrstuvwxyz' * 20 }}{% endfor %}",
      "{% set n = namespace(s='ab') %}{% for a in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
      "{% set n = namespace(s='ab') %}{% for a in range(99) %}{% set n.s = n.s.replace('a', n.s) %}{% endfor "
      "%}",
      "{% set n = namespace(s=[1]) %}{% for a in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
      "{% set n = namespace(s=[1]) %}{% for a in range(99999) %}{% set n.s = [n.s] %}{% endfor %}",
      "{% set n = namespace(s=[1]) %}{% for a in range(150) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s "
      "}}",
      "{% set n = namespace(s=[1], t=[1]) %}{% for a in range(150) %}{% set n.s = [n.s, n.s] %}"
      "{% set n.t = [n.t, n.t] %}{% endfor %}{{ n.s == n.t }}",
      "{% set n = namespace(s=()) %}{% for a in range(150) %}{% set n.s = (n.s, n.s) %}{% endfor %}{{ {n.s: "
      "1} }}",
      "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
      "{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}",
      "{% macro f(x) %}{% for y in [1] %}{% set z %}{{ f(x | string | trim ~ 1) }}{% endset %}{% endfor %}{% "
      "endmacro %}{{ f(1) }}",
      "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{% set a = 'a' * 4000000 %}{% set b = a ~ 'b' %}{% for i in range(99999) %}{{ a.find(b) }}{{ b in a "
      "}}{% endfor %}",
      "{% for i in range(99999) %}{% set x = namespace(a=i) %}{% macro f() %}{{ x }}{% endmacro %}{% endfor "
      "%}",
  };
  for (const char* source : hostile) {
    const Error error = error_of(source);
    EXPECT_EQ(error.message.find("no error"), std::string::npos) << source;
  }
}

// Long chains and circles of objects that hold each other are taken apart without recursion, and without a
// leak.
TEST(TemplateLimit, ChainsAndCirclesAreFreed) {
  const char* const tangled[] = {
      "{% set n = namespace() %}{% set n.n = n %}",
      "{% set n = namespace(c=none) %}{% for i in range(30000) %}{% set n.c = namespace(p=n.c) %}{% endfor "
      "%}",
      "{% set n = namespace(c=none) %}{% for i in range(30000) %}{% macro f() %}{{ p }}{% endmacro %}{% set "
      "p = n.c %}"
      "{% set n.c = f %}{% endfor %}",
      "{% macro f() %}{% set n.c = caller %}{% endmacro %}{% set n = namespace(c=none) %}{% for i in "
      "range(30000) %}"
      "{% set p = n.c %}{% call f() %}{{ p }}{% endcall %}{% endfor %}",
      "{% for x in [1, 2] %}{{ loop.changed(loop) }}{% endfor %}",
      "{% set n = namespace(l=none) %}{% for x in [1, 2] recursive %}{% set n.l = loop %}{% set m = n %}{% "
      "endfor %}",
      "{% set n = namespace(l=none) %}{% for x in [1, 2] if n %}{% set n.l = loop %}{{ loop.last }}{% endfor "
      "%}",
  };
  for (const char* source : tangled) rendered(source);
}

TEST(TemplateLimit, ALongConversationFits) {
  std::string messages;
  for (int i = 0; i < 1000; ++i) {
    messages += std::string(i ? "," : "") + R"({"role": "user", "content": ")" +
                repeated("hello world ", 300) + "\"}";
  }
  const std::string text = rendered(
      "{% set ns = namespace(out='') %}{% for m in messages %}{% if '</think>' in m.content %}{{ "
      "m.content.split('</think>')[-1] }}"
      "{% endif %}{{ '<' ~ m.role ~ '>' + m.content | trim + '\\n' }}{% set ns.out = ns.out + m.content[:20] "
      "%}{% endfor %}{{ ns.out | length }}",
      "{\"messages\": [" + messages + "]}");
  EXPECT_GT(text.size(), 3'500'000u);
}

TEST(Template, RendersFromSeveralThreadsAtOnce) {
  const auto parsed = ChatTemplate::parse("{% for x in xs %}{{ x | upper ~ 'é' * 3 }}{% endfor %}");
  ASSERT_TRUE(parsed.has_value());
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& text : texts) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) text = parsed->render(R"({"xs": ["a", "b"]})", 0).value_or("failed");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, "AéééBééé");
}

}  // namespace
}  // namespace parlance
