#include "capi/answer.h"

#include <cstdlib>
#include <cstring>

#include "assistant/wording.h"
#include "elizainference.h"

namespace parlance::capi {

namespace {

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::too_complex:
      return ELIZA_ERR_INVALID_ARG;
    case ErrorCode::not_found:
    case ErrorCode::corrupt_file:
      return ELIZA_ERR_BUNDLE_INVALID;
    case ErrorCode::unsupported:
      return ELIZA_ERR_NOT_IMPLEMENTED;
    case ErrorCode::out_of_memory:
    case ErrorCode::busy:  // as many are open as there is memory for
      return ELIZA_ERR_OOM;
    case ErrorCode::cancelled:
      return ELIZA_ERR_CANCELLED;
    case ErrorCode::io:
    case ErrorCode::device_failed:
    case ErrorCode::timed_out:
      break;
  }
  return ELIZA_ERR_FFI_FAULT;
}

}  // namespace

Refusal::Refusal(Error error) : status(status_of(error.code)), message(std::move(error.message)) {}

Refusal bundle_refusal(Error error) {
  const bool is_of_files = error.code == ErrorCode::invalid_argument || error.code == ErrorCode::unsupported;
  Refusal refusal(std::move(error));
  if (is_of_files) refusal.status = ELIZA_ERR_BUNDLE_INVALID;
  return refusal;
}

void clear(char** out_error) noexcept {
  if (out_error) *out_error = nullptr;
}

int report(char** out_error, const Refusal& refusal) noexcept {
  if (!out_error) return refusal.status;
  try {
    const std::string text = worded(refusal.message, Door::c_library);
    if (char* copy = static_cast<char*>(std::malloc(text.size() + 1))) {
      std::memcpy(copy, text.c_str(), text.size() + 1);
      *out_error = copy;
    }
  } catch (const std::bad_alloc&) {  // then the code has to do
  }
  return refusal.status;
}

}  // namespace parlance::capi

void eliza_inference_free_string(char* str) {
  std::free(str);
}

void eliza_inference_free_tokens(int* tokens) {
  std::free(tokens);
}
