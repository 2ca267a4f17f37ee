// Sizes that follow from a cache's layout, and whether the formats fit the model.
#include <algorithm>

#include "base/checked.h"
#include "base/parameter.h"
#include "kv/cache.h"

namespace parlance {

size_t KvLayout::layer_bytes_per_token(const LayerCoding& coding) const {
  return static_cast<size_t>(n_head_kv) *
         (kv_row_bytes(coding.k.format, head_dim_k) + kv_row_bytes(coding.v.format, head_dim_v));
}

size_t KvLayout::bytes_per_token() const {
  size_t bytes = 0;
  for (int64_t layer = 0; layer < n_layer; ++layer) bytes += layer_bytes_per_token(coding(layer));
  return bytes;
}

size_t KvLayout::exact_bytes_per_token() const {
  return static_cast<size_t>(n_layer) * layer_bytes_per_token({});
}

size_t KvLayout::page_bytes(PageKind kind) const {
  return (kind == PageKind::main ? bytes_per_token() : exact_bytes_per_token()) *
         static_cast<size_t>(page_tokens);
}

int64_t KvLayout::n_sink_pages() const {
  return div_up<int64_t>(policy.n_sink, page_tokens);
}

PageCounts KvLayout::n_pages(int64_t n_ctx, int n_seq, int64_t n_batch) const {
  const auto limited = [](int64_t n) { return static_cast<int32_t>(std::min<int64_t>(n, INT32_MAX)); };
  // One more for each sequence: a page that others share gives way to a copy.
  const int64_t of_context = div_up<int64_t>(n_ctx, page_tokens) + 1;
  PageCounts counts{limited(of_context * n_seq), 0};
  if (policy.has_exact_pages()) {
    const int64_t window = n_sink_pages() + div_up<int64_t>(policy.n_recent, page_tokens) +
                           div_up<int64_t>(n_batch, page_tokens);
    counts.exact = limited(std::min(of_context, window + 2) * n_seq);
  }
  return counts;
}

size_t KvLayout::bytes(PageCounts n_pages) const {
  return static_cast<size_t>(n_pages.main) * page_bytes(PageKind::main) +
         static_cast<size_t>(n_pages.exact) * page_bytes(PageKind::exact);
}

std::string KvLayout::description() const {
  std::string text = fmt::format("{} layers, {} heads of {} and {}, pages of {}", n_layer, n_head_kv,
                                 head_dim_k, head_dim_v, page_tokens);
  const auto side = [](const KvCoding& c) {
    return fmt::format("{}{}{}", name_of(c.format), c.transform() == KvTransform::hadamard ? " rotated" : "",
                       c.transform() == KvTransform::sketch_least_squares ? " least squares" : "");
  };
  for (int64_t layer = 0; layer < n_layer; ++layer) {
    const LayerCoding c = coding(layer);
    text += fmt::format("; {} {}", side(c.k), side(c.v));
  }
  if (policy.equaliser) text += fmt::format("; equalised by {:016x}", policy.equaliser->hash());
  return text;
}

namespace {

Result<void> validate_side(Parameter parameter, KvFormat format, int64_t head_dim) {
  const uint32_t block = traits(format).block_elements;
  if (head_dim % block == 0) return {};
  return fail(ErrorCode::unsupported,
              "{} needs a head size that is a multiple of {}, this model has {}; use f16 or bf16{}",
              set_to(parameter, name_of(format)), block, head_dim,
              head_dim % 32 == 0 ? ", or tbq4_0, tbq3_0, q8_0 or q4_0" : "");
}

}  // namespace

Result<void> validate(const KvLayout& layout) {
  const KvPolicy& policy = layout.policy;
  PARLANCE_CHECK(validate_side(Parameter::cache_type_k, policy.k.format, layout.head_dim_k));
  PARLANCE_CHECK(validate_side(Parameter::cache_type_v, policy.v.format, layout.head_dim_v));
  for (const KvPolicy::Override& o : policy.layers) {
    if (o.layer >= layout.n_layer || o.layer < -layout.n_layer) {
      return fail(ErrorCode::invalid_argument,
                  "{} names layer {}, and the model has {} with a cache; give {} to {}",
                  Parameter::cache_layers, o.layer, layout.n_layer, -layout.n_layer, layout.n_layer - 1);
    }
    PARLANCE_CHECK(validate_side(Parameter::cache_layers, o.k, layout.head_dim_k));
    PARLANCE_CHECK(validate_side(Parameter::cache_layers, o.v, layout.head_dim_v));
  }
  return {};
}

}  // namespace parlance
