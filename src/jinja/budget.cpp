#include "jinja/budget.h"

namespace parlance::jinja {

tl::unexpected<Error> Budget::error() const {
  switch (cause_) {
    case Cause::steps:
      return fail(
          ErrorCode::unsupported,
          "the template runs longer than the limit of {} steps; shorten the conversation or raise max_steps",
          limits_.max_steps);
    case Cause::output:
      return fail(ErrorCode::out_of_memory,
                  "the rendered text exceeds the limit of {} bytes; shorten the conversation or raise "
                  "max_output_bytes",
                  limits_.max_output_bytes);
    case Cause::depth:
      return fail(
          ErrorCode::unsupported,
          "values or calls are nested deeper than the limit allows ({}); flatten them or raise max_depth",
          limits_.max_depth);
    case Cause::bytes:
    case Cause::none:
      break;
  }
  return fail(ErrorCode::out_of_memory,
              "the values of the template exceed the limit of {} bytes; shorten the conversation or raise "
              "max_output_bytes",
              limits_.max_output_bytes);
}

}  // namespace parlance::jinja
