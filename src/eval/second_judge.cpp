#include "eval/second_judge.h"

#include <fstream>

#include "base/os/program.h"

namespace parlance {

namespace {

constexpr const char* kProgram = "pocketsphinx_batch";
constexpr const char* kModels = "/usr/share/pocketsphinx/model/en-us/";
constexpr const char* kWavHeaderBytes = "44";

}  // namespace

bool has_second_judge() {
  std::error_code error;
  return is_program(kProgram) && std::filesystem::exists(std::string(kModels) + "en-us.lm.bin", error);
}

std::string text_of_answer(std::string_view line) {
  const size_t end = line.rfind('(');
  std::string_view text = end == line.npos ? line : line.substr(0, end);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

Result<std::vector<std::string>> hear_with_second_judge(const std::filesystem::path& folder,
                                                        const std::vector<std::string>& names,
                                                        const Cancellation& cancellation) {
  const std::filesystem::path list = folder / "files.txt", answers = folder / "heard.txt";
  {
    std::ofstream out(list);
    for (const std::string& name : names) out << name << '\n';
    if (!out) return fail(ErrorCode::io, "{}: cannot be written", list.string());
  }
  const std::string models = kModels;
  PARLANCE_CHECK(run_program(kProgram, {"-adcin",    "yes",
                                        "-adchdr",   kWavHeaderBytes,
                                        "-samprate", "16000",
                                        "-cepdir",   folder.string(),
                                        "-cepext",   ".wav",
                                        "-ctl",      list.string(),
                                        "-hyp",      answers.string(),
                                        "-hmm",      models + "en-us",
                                        "-lm",       models + "en-us.lm.bin",
                                        "-dict",     models + "cmudict-en-us.dict"},
                             cancellation));
  std::vector<std::string> texts;
  std::ifstream in(answers);
  for (std::string line; std::getline(in, line);) texts.push_back(text_of_answer(line));
  if (texts.size() == names.size()) return texts;
  return fail(ErrorCode::io, "{} answered {} of {} files", kProgram, texts.size(), names.size());
}

}  // namespace parlance
