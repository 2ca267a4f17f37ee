#include "assistant/voice_regions.h"

#include "assistant/cache_folder.h"
#include "assistant/cache_settling.h"
#include "assistant/model_files.h"
#include "assistant/text_region.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

size_t bytes_of_files(std::initializer_list<fs::path> files) {
  size_t bytes = 0;
  for (const fs::path& file : files) {
    std::error_code ec;
    const uintmax_t size = fs::file_size(file, ec);
    if (!ec) bytes += static_cast<size_t>(size);
  }
  return bytes;
}

}  // namespace

Result<std::shared_ptr<AsrRegion>> AsrRegion::load(const Choice& choice, DeviceShelf& devices,
                                                   const OnRemark& on_remark) {
  PARLANCE_TRY(const AsrFiles files, find_asr_files(choice.files));
  auto region = std::make_shared<AsrRegion>();
  const DeviceChoice& where = choice.devices;
  PARLANCE_TRY(region->device, devices.get(where.of_asr(), CpuRank::ears));
  PARLANCE_TRY(region->model,
               AsrModel::load(files, *region->device,
                              {.huge_pages = where.asr_huge_pages.value_or(where.huge_pages)}));
  SessionOptions session{.cache = choice.recognizer.cache};
  settle_cache(region->model->text(), session, on_remark);
  RecognizerOptions options = choice.recognizer;
  options.cache = session.cache;
  PARLANCE_TRY(region->recognizer, Recognizer::create(*region->model, options));
  region->text_name = display_name(region->model->text());
  region->encoder_name = files.encoder.stem().string();
  return region;
}

RegionBytes AsrRegion::bytes() const {
  return {.weights = model->weight_bytes(), .working = recognizer->memory_bytes()};
}

Result<std::shared_ptr<TtsRegion>> TtsRegion::load(const Choice& choice, DeviceShelf& devices) {
  PARLANCE_TRY(const TtsFiles files, find_tts_files(choice.files));
  auto region = std::make_shared<TtsRegion>();
  region->voices = find_voices(choice.files);
  const DeviceChoice& where = choice.devices;
  PARLANCE_TRY(region->device, devices.get(where.of_voice(), CpuRank::mouth));
  PARLANCE_TRY(region->codec_device, devices.get(where.of_codec(), CpuRank::mouth));
  PARLANCE_TRY(region->model, TtsModel::load(files, *region->device,
                                             {.huge_pages = where.huge_pages,
                                              .widened_weights = where.widened_weights,
                                              .codec_device = region->codec_device.get()}));
  SynthesizerOptions options = choice.synthesizer;
  if (const auto folder = cache_folder(); folder && !options.hidden_folder)
    options.hidden_folder = *folder / "voices";
  region->synthesizer = std::make_unique<Synthesizer>(*region->model, options);
  region->queue = std::make_unique<SpeechQueue>(*region->synthesizer);
  return region;
}

RegionBytes TtsRegion::bytes() const {
  return {.weights = model->weight_bytes() + model->lm().widened_bytes(), .working = 0};
}

Result<std::shared_ptr<VadRegion>> VadRegion::load(const Choice& choice) {
  PARLANCE_TRY(const fs::path file, find_vad_file(choice.files));
  auto region = std::make_shared<VadRegion>();
  PARLANCE_TRY(region->model, load_silero(file));
  region->file_bytes = bytes_of_files({file});
  return region;
}

Result<std::shared_ptr<AlignerRegion>> AlignerRegion::load(const Choice& choice, DeviceShelf& devices) {
  PARLANCE_TRY(const AsrFiles files, find_aligner_files(choice.files));
  auto region = std::make_shared<AlignerRegion>();
  PARLANCE_TRY(region->device, devices.get(choice.devices.of_voice(), CpuRank::ears));
  PARLANCE_TRY(region->aligner, Aligner::load(files, *region->device));
  region->file_bytes = bytes_of_files({files.text, files.encoder});
  return region;
}

Result<std::shared_ptr<SpeakerRegion>> SpeakerRegion::load(const Choice& choice) {
  PARLANCE_TRY(const fs::path file, find_speaker_file(choice.files));
  PARLANCE_TRY(SpeakerVerifier verifier, SpeakerVerifier::load(file));
  return std::make_shared<SpeakerRegion>(
      SpeakerRegion{.last = {}, .verifier = std::move(verifier), .file_bytes = bytes_of_files({file})});
}

Result<std::shared_ptr<DrafterRegion>> DrafterRegion::load(const Choice& choice) {
  PARLANCE_TRY(const fs::path path, find_drafter_file(choice.files));
  PARLANCE_TRY(GgufFile file, GgufFile::open(path));
  return std::make_shared<DrafterRegion>(DrafterRegion{.last = {}, .file = std::move(file)});
}

}  // namespace parlance
