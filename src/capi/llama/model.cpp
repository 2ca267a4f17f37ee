#include "capi/llama/model.h"

#include <algorithm>

#include "base/os/thread.h"
#include "capi/knobs.h"
#include "capi/llama/report.h"
#include "capi/llama/text_out.h"
#include "engine/elapsed.h"

namespace parlance::capi {

namespace {

constexpr int kDefaultThreads = 4;  // as there

tl::unexpected<Error> absent(const char* field, const char* why) {
  return fail(ErrorCode::unsupported, "{}: {}", field, why);
}

bool splits_tensors(const float* split) {
  return split && std::any_of(split, split + llama_max_devices(), [](float share) { return share != 0; });
}

// Fields that ask for what there is no code for.
Result<void> check_model_params(const llama_model_params& p) {
  if (p.devices && p.devices[0]) return absent("devices", "the device is what ELIZA_DEVICE names");
  if (p.tensor_buft_overrides && p.tensor_buft_overrides[0].pattern)
    return absent("tensor_buft_overrides", "tensors lie where their layer does");
  if (p.split_mode != LLAMA_SPLIT_MODE_NONE && p.split_mode != LLAMA_SPLIT_MODE_LAYER)
    return absent("split_mode", "layers are not split; use LLAMA_SPLIT_MODE_LAYER");
  if (p.load_mode == LLAMA_LOAD_MODE_MLOCK || p.load_mode == LLAMA_LOAD_MODE_MMAP_MLOCK)
    return absent("load_mode", "memory is not locked; use LLAMA_LOAD_MODE_AUTO");
  if (p.main_gpu != 0) return absent("main_gpu", "the device is what ELIZA_DEVICE names");
  if (splits_tensors(p.tensor_split)) return absent("tensor_split", "there is one device beside the CPU");
  if (p.kv_overrides && p.kv_overrides[0].key[0] != '\0')
    return absent("kv_overrides", "metadata is as the file says");
  if (p.check_tensors) return absent("check_tensors", "values are looked at when they are computed with");
  if (p.no_alloc) return absent("no_alloc", "a model is loaded or not; use vocab_only for its vocabulary");
  if (p.load_mtp) return absent("load_mtp", "layers that predict further tokens are not run");
  return {};
}

void remark_to_log(const std::string& text) {
  log_line(LogLevel::warning, text);
}

}  // namespace

int llama_threads(int32_t wanted) {
  const int n_processors = std::max<int>(1, static_cast<int>(usable_processors().size()));
  return wanted > 0 ? std::min<int>(wanted, n_processors) : n_processors;
}

Result<std::shared_ptr<LlamaModel>> LlamaModel::load(const std::filesystem::path& path,
                                                     const llama_model_params& params) {
  PARLANCE_CHECK(check_model_params(params));
  const auto start = std::chrono::steady_clock::now();
  auto model = std::make_shared<LlamaModel>();
  const auto knobs = read_knobs();
  if (!knobs) return fail(ErrorCode::invalid_argument, "{}", knobs.error().message);
  if (params.vocab_only) {
    PARLANCE_TRY(model->file_, GgufFile::open(path));
    PARLANCE_TRY(model->tokenizer_, Tokenizer::load(*model->file_));
  } else {
    model->choice_.files.text = path.string();
    model->choice_.devices.text = knobs->device;
    if (params.n_gpu_layers >= 0 && knobs->device != "cpu") {
      PARLANCE_TRY(const GgufFile file, GgufFile::open(path));
      PARLANCE_TRY(const HyperParameters hp, read_hyper_parameters(file));
      model->choice_.devices.n_gpu_layers = std::min<int64_t>(params.n_gpu_layers, hp.n_layer);
    }
    model->n_threads_ = llama_threads(kDefaultThreads);
    DeviceShelf devices(model->n_threads_);
    PARLANCE_TRY(TextWeights weights, load_text_weights(model->choice_, devices, remark_to_log));
    model->weights_ = std::make_shared<TextWeights>(std::move(weights));
    model->file_ = model->text()->file();
  }
  model->load_ms_ = ms_between(start, std::chrono::steady_clock::now());
  return model;
}

// A thread pool belongs to the device that weights were loaded for; the file's pages are the same.
Result<std::shared_ptr<TextWeights>> LlamaModel::weights(int n_threads) {
  if (!weights_) {
    return fail(ErrorCode::invalid_argument, "{}: only its vocabulary was loaded; load it without vocab_only",
                file().name());
  }
  const bool is_on_cpu = weights_->device->name() == "cpu";
  if (n_threads == n_threads_ || !is_on_cpu) return weights_;
  const std::lock_guard lock(mutex_);
  std::weak_ptr<TextWeights>& place = for_threads_[n_threads];
  if (auto known = place.lock()) return known;
  DeviceShelf devices(n_threads);
  PARLANCE_TRY(TextWeights loaded, load_text_weights(choice_, devices, remark_to_log));
  auto weights = std::make_shared<TextWeights>(std::move(loaded));
  place = weights;
  return weights;
}

const char* LlamaModel::token_text(Token token) {
  if (token < 0 || token >= tokenizer().n_vocab()) return nullptr;
  const std::lock_guard lock(mutex_);
  return token_texts_.try_emplace(token, tokenizer().text(token)).first->second.c_str();
}

const char* LlamaModel::chat_template(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = chat_templates_.find(name); known != chat_templates_.end())
    return known->second.c_str();
  const std::string key = "tokenizer.chat_template" + (name.empty() ? "" : "." + name);
  const auto found = file().find_string(key);
  if (!found || !*found) return nullptr;
  return chat_templates_.emplace(name, **found).first->second.c_str();
}

std::shared_ptr<LlamaModel> llama_model_of(const char* function, const void* handle) {
  auto model = handles().find<LlamaModel>(handle);
  if (!model)
    llama_log_error(function,
                    {ErrorCode::invalid_argument, "there is no such model; it was freed, or never loaded"});
  return model;
}

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

namespace {

// What `read` says of a model; 0 where there is none, or where it has no weights and `read` looks at them.
template <class R, class Read>
R of_model(const char* function, const llama_model* handle, Read read) {
  return llama_answer(function, R(), [&]() -> Result<R> {
    const auto model = llama_model_of(function, handle);
    return model ? static_cast<R>(read(*model)) : R();
  });
}

template <class Read>
int32_t of_parameters(const char* function, const llama_model* handle, Read read) {
  return of_model<int32_t>(function, handle, [&](const LlamaModel& model) {
    return model.text() ? read(model.text()->hyper_parameters()) : int64_t{0};
  });
}

}  // namespace

llama_model_params llama_model_default_params() {
  llama_model_params params = {};
  params.n_gpu_layers = -1;
  params.split_mode = LLAMA_SPLIT_MODE_LAYER;
  params.load_mode = LLAMA_LOAD_MODE_AUTO;
  params.lazy_mode = LLAMA_LAZY_MODE_AUTO;
  params.use_extra_bufts = true;
  return params;
}

llama_model* llama_model_load_from_file(const char* path_model, llama_model_params params) {
  return llama_answer(__func__, static_cast<llama_model*>(nullptr), [&]() -> Result<llama_model*> {
    if (!path_model || !*path_model)
      return fail(ErrorCode::invalid_argument, "path_model is empty; name a GGUF file");
    const auto goes_on = [&](float progress) {
      return !params.progress_callback ||
             params.progress_callback(progress, params.progress_callback_user_data);
    };
    if (!goes_on(0)) return fail(ErrorCode::cancelled, "{}: progress_callback ended the load", path_model);
    PARLANCE_TRY(auto model, LlamaModel::load(path_model, params));
    if (!goes_on(1)) return fail(ErrorCode::cancelled, "{}: progress_callback ended the load", path_model);
    return static_cast<llama_model*>(handles().add(std::move(model)));
  });
}

void llama_model_free(llama_model* model) {
  llama_do(__func__, [&]() -> Result<void> {
    handles().remove<LlamaModel>(model);
    return {};
  });
}

const llama_vocab* llama_model_get_vocab(const llama_model* model) {
  return of_model<const llama_vocab*>(
      __func__, model, [&](const LlamaModel&) { return reinterpret_cast<const llama_vocab*>(model); });
}

int32_t llama_model_n_ctx_train(const llama_model* model) {
  return of_parameters(__func__, model, [](const HyperParameters& hp) { return hp.n_ctx_train; });
}

int32_t llama_model_n_embd(const llama_model* model) {
  return of_parameters(__func__, model, [](const HyperParameters& hp) { return hp.n_embd; });
}

int32_t llama_model_n_embd_inp(const llama_model* model) {
  return of_parameters(__func__, model, [](const HyperParameters& hp) { return hp.n_embd; });
}

int32_t llama_model_n_embd_out(const llama_model* model) {
  return of_parameters(__func__, model, [](const HyperParameters& hp) { return hp.n_embd; });
}

int32_t llama_model_n_layer(const llama_model* model) {
  return of_parameters(__func__, model, [](const HyperParameters& hp) { return hp.n_layer; });
}

int32_t llama_model_n_head(const llama_model* model) {
  return of_parameters(__func__, model, [](const HyperParameters& hp) { return hp.n_head; });
}

int32_t llama_model_n_head_kv(const llama_model* model) {
  return of_parameters(__func__, model, [](const HyperParameters& hp) { return hp.n_head_kv; });
}

// Language models alone are run, which read from left to right.
bool llama_model_has_encoder(const llama_model* model) {
  return of_model<bool>(__func__, model, [](const LlamaModel&) { return false; });
}

bool llama_model_has_decoder(const llama_model* model) {
  return of_model<bool>(__func__, model, [](const LlamaModel&) { return true; });
}

llama_token llama_model_decoder_start_token(const llama_model*) {
  return LLAMA_TOKEN_NULL;
}

bool llama_model_is_recurrent(const llama_model* model) {
  return of_parameters(__func__, model, [](const HyperParameters& hp) {
           return int64_t{hp.n_layers_of(LayerKind::attention) == 0};
         }) != 0;
}

bool llama_model_is_hybrid(const llama_model* model) {
  return of_parameters(__func__, model, [](const HyperParameters& hp) {
           const int64_t n_attention = hp.n_layers_of(LayerKind::attention);
           return int64_t{n_attention > 0 && n_attention < hp.n_layer};
         }) != 0;
}

uint32_t llama_model_n_cls_out(const llama_model* model) {
  return of_model<uint32_t>(__func__, model, [](const LlamaModel&) { return 0; });
}

const char* llama_model_cls_label(const llama_model* model, uint32_t) {
  return of_model<const char*>(__func__, model, [](const LlamaModel&) { return nullptr; });
}
