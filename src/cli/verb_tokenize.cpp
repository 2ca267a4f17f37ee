// parlance tokenize: text to token ids and back.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "assistant/default_model.h"
#include "base/parse_number.h"
#include "cli/terminal/input.h"
#include "cli/terminal/options.h"
#include "cli/terminal/table.h"
#include "cli/verbs.h"
#include "gguf/reader.h"
#include "json/json.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

namespace {

struct TokenizeOptions {
  std::string model;
  std::optional<std::string> text;
  std::string file;
  bool ids_only = false;
  bool wants_json = false;
  bool decodes = false;
  bool no_special = false;
  bool parse_special = false;
};

// Token ids separated by commas, spaces or newlines; brackets around them are fine.
Result<std::vector<Token>> parse_ids(std::string_view text, const Tokenizer& tokenizer) {
  constexpr std::string_view kSeparators = " \t\r\n,[]";
  std::vector<Token> ids;
  for (size_t start = text.find_first_not_of(kSeparators); start != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kSeparators, start), text.size());
    const std::string_view word = text.substr(start, end - start);
    const auto id = parse_number<int>(word);
    if (!id || *id < 0 || *id >= tokenizer.n_vocab()) {
      return fail(ErrorCode::invalid_argument,
                  "'{}' is not a token of this vocabulary; give numbers from 0 to {}", shorten(word, 40),
                  tokenizer.n_vocab() - 1);
    }
    ids.push_back(*id);
    start = text.find_first_not_of(kSeparators, end);
  }
  return ids;
}

// A piece between quotes, with what is no visible text written as escapes.
std::string quoted(std::string_view piece) {
  StreamingDecoder decoder;
  const bool is_text = decoder.push(piece) == piece;
  std::string text = "\"";
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (c == '"' || c == '\\') {
      text += std::string("\\") + c;
    } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !is_text)) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string_view name_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::undefined:
      return "undefined";
    case TokenKind::normal:
      return "";
    case TokenKind::unknown:
      return "unknown";
    case TokenKind::control:
      return "control";
    case TokenKind::user_defined:
      return "user defined";
    case TokenKind::unused:
      return "unused";
    case TokenKind::byte:
      return "byte";
  }
  return "";
}

void print_tokens(const Console& io, const TokenizeOptions& options, const Tokenizer& tokenizer,
                  const std::vector<Token>& tokens) {
  if (options.wants_json) {
    Json ids = Json::array(), pieces = Json::array();
    for (const Token token : tokens) {
      ids.push(token);
      pieces.push(tokenizer.piece(token, true));
    }
    io.print("{}\n", Json::object({{"n_tokens", tokens.size()}, {"ids", ids}, {"pieces", pieces}}).line());
  } else if (options.ids_only) {
    io.print("{}\n", fmt::join(tokens, " "));
  } else {
    Table table({{"token", Table::Align::right}, {"text", Table::Align::left}, {"kind", Table::Align::left}});
    for (const Token token : tokens) {
      table.add({fmt::format("{}", token), quoted(tokenizer.piece(token, true)),
                 std::string(name_of(tokenizer.kind(token)))});
    }
    io.write(table.text(io));
    io.print("\n  {} tokens\n", tokens.size());
  }
}

Result<int> tokenize(Console& io, const TokenizeOptions& options) {
  PARLANCE_TRY(const auto input, read_input(io, options.text, options.file));
  if (!input) return fail(ErrorCode::invalid_argument, "there is no text; give some with --prompt or --file");
  PARLANCE_TRY(const auto path, find_model(options.model));
  PARLANCE_TRY(const GgufFile file, GgufFile::open(path));
  PARLANCE_TRY(const Tokenizer tokenizer, Tokenizer::load(file));
  if (!options.decodes) {
    const EncodeOptions how{.add_special = !options.no_special, .parse_special = options.parse_special};
    print_tokens(io, options, tokenizer, tokenizer.encode(*input, how));
    return kSuccess;
  }
  PARLANCE_TRY(const std::vector<Token> ids, parse_ids(*input, tokenizer));
  const std::string text = tokenizer.decode(ids, /*with_special=*/!options.no_special);
  if (options.wants_json) {
    io.print("{}\n", Json::object({{"n_tokens", ids.size()}, {"text", text}}).line());
  } else {
    io.write(text);
    if (io.out_is_terminal && !text.ends_with('\n')) io.write("\n");
  }
  return kSuccess;
}

}  // namespace

Command tokenize_command() {
  const auto options = std::make_shared<TokenizeOptions>();
  Command command;
  command.name = "tokenize";
  command.summary = "Show how a model reads a text, token by token.";
  command.description =
      "Prints the tokens of a text under a model's vocabulary, or with --decode the text of tokens. Only the "
      "vocabulary of the file is read, so a file without weights will do.";
  command.examples = {
      {"parlance tokenize -p \"Hello, world\"", "a table of tokens"},
      {"parlance tokenize -m model.gguf -f letter.txt --ids | wc -w", "how many tokens a file has"},
      {"parlance tokenize --decode -p \"9707 11 1879\"", "back to text"}};
  command.groups = {
      {"Text",
       {prompt_option(options->text, "The text; - reads standard input."),
        file_option(options->file, "A file with the text; - reads standard input."),
        model_option(options->model)}},
      {"Tokens",
       {flag("--parse-special", "Read the names of control tokens, such as <|im_end|>, as those tokens.",
             options->parse_special),
        flag("--no-special", "Add no beginning or end token; with --decode, leave control tokens out.",
             options->no_special),
        flag("--decode", "The text is numbers of tokens; print what they say.", options->decodes)}},
      {"Output",
       {flag("--ids", "Print the numbers only.", options->ids_only), json_option(options->wants_json)}}};
  command.check = [options]() -> Result<void> {
    PARLANCE_CHECK(check_input(options->text, options->file));
    if (options->ids_only && (options->decodes || options->wants_json)) {
      return fail(ErrorCode::invalid_argument, "--ids goes with neither --decode nor --json; leave one out");
    }
    return {};
  };
  command.run = [options](Console& io) { return tokenize(io, *options); };
  return command;
}

}  // namespace parlance
