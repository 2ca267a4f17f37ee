#include "convert/convert.h"

#include "base/ascii.h"
#include "convert/audio_encoder.h"
#include "convert/language_model.h"
#include "convert/omnivoice.h"
#include "models/mixture.h"
#include "models/quantize.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

// What is written directly; others are made of that.
std::optional<DType> direct_type(std::string_view name) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0}) {
    if (ascii::are_equal(name, name_of(dtype))) return dtype;
  }
  return std::nullopt;
}

std::string first_architecture(const Json& config) {
  const auto list = config.member("architectures");
  const auto names = list ? list->elements() : std::nullopt;
  return names && !names->empty() ? names->front().text().value_or("") : "";
}

class Conversion {
 public:
  Conversion(const WeightFolder& folder, Json config, const ConvertOptions& options)
      : folder_(folder), config_(std::move(config)), options_(options), type_{direct_type(options.type)} {
    out_ = options.out;
    if (out_.empty()) {
      const std::string kind = options.type.empty() ? "" : "-" + ascii::upper(options.type);
      out_ = folder.name() + kind + ".gguf";
    }
    if (!options.type.empty() && !type_.dtype) mixture_ = options.type;
  }

  Result<std::vector<ConvertedFile>> run() {
    if (is_omnivoice(config_)) return run_omnivoice();
    const std::string of_config = first_architecture(config_);
    const std::string architecture = language_architecture(of_config);
    if (architecture.empty()) {
      return fail(
          ErrorCode::unsupported,
          "{}: models of the kind '{}' are not known here; Qwen3, Qwen2, Llama, Qwen3-ASR and OmniVoice are",
          (folder_.path() / "config.json").string(), of_config.substr(0, 80));
    }
    PARLANCE_CHECK(write("model", architecture, out_, mixture_, folder_, [&](GgufWriter& writer) {
      return plan_language_model(writer, folder_, config_, architecture, type_);
    }));
    if (architecture == "qwen3vl") {
      const fs::path beside = out_.parent_path() / ("mmproj-" + out_.filename().string());
      PARLANCE_CHECK(write("mmproj", "clip", beside, "", folder_, [&](GgufWriter& writer) {
        return plan_audio_encoder(writer, folder_, config_, type_);
      }));
    }
    return std::move(files_);
  }

 private:
  Result<std::vector<ConvertedFile>> run_omnivoice() {
    PARLANCE_TRY(const WeightFolder codec, WeightFolder::open(folder_.path() / "audio_tokenizer"));
    PARLANCE_CHECK(write("model", "omnivoice-lm", out_, mixture_, folder_, [&](GgufWriter& writer) {
      return plan_omnivoice_base(writer, folder_, config_, type_);
    }));
    const fs::path beside =
        out_.parent_path() / (out_.stem().string() + "-tokenizer" + out_.extension().string());
    PARLANCE_CHECK(write("codec", "omnivoice-tokenizer", beside, "", codec,
                         [&](GgufWriter& writer) { return plan_omnivoice_codec(writer, codec); }));
    return std::move(files_);
  }

  template <class Plan>
  Result<void> write(const char* what, const std::string& architecture, const fs::path& path,
                     const std::string& mixture, const WeightFolder& folder, const Plan& plan) {
    GgufWriter writer;
    PARLANCE_TRY(const std::vector<TensorPlan> tensors, plan(writer));
    // A mixture is made of the file with the weights as they were published, which is there only meanwhile.
    const fs::path whole = mixture.empty() ? path : fs::path(path.string() + ".unquantised");
    PARLANCE_TRY(uint64_t n_bytes, write_model(writer, folder, tensors, whole, options_.progress));
    if (!mixture.empty()) {
      QuantizeOptions quantising{.mixture = mixture, .n_threads = 0, .progress = {}};
      if (options_.progress) {
        quantising.progress = [&](const QuantizeProgress& progress) {
          return options_.progress({mixture, progress.tensor, progress.n_tensors_done, progress.n_tensors});
        };
      }
      const auto report = quantize_file(whole, path, quantising);
      std::error_code ignored;
      fs::remove(whole, ignored);
      if (!report) return tl::unexpected(report.error());
      n_bytes = report->bytes_after;
    }
    files_.push_back({what, architecture, path, n_bytes, tensors.size()});
    return {};
  }

  const WeightFolder& folder_;
  const Json config_;
  const ConvertOptions& options_;
  const ConvertType type_;
  fs::path out_;
  std::string mixture_;
  std::vector<ConvertedFile> files_;
};

}  // namespace

Result<std::vector<ConvertedFile>> convert_folder(const fs::path& path, const ConvertOptions& options) {
  if (!options.type.empty() && !direct_type(options.type) && !find_mixture(options.type)) {
    return fail(ErrorCode::invalid_argument, "type '{}' is not one of f32, f16, bf16, q8_0, {}", options.type,
                mixture_names());
  }
  PARLANCE_TRY(const WeightFolder folder, WeightFolder::open(path));
  PARLANCE_TRY(Json config, folder.read_json("config.json"));
  return Conversion(folder, std::move(config), options).run();
}

}  // namespace parlance
