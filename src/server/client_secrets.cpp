#include "server/client_secrets.h"

#include <algorithm>
#include <span>

#include "base/random_id.h"
#include "bundle/sha256.h"

namespace parlance {

namespace {

constexpr size_t kSecretCharacters = 43;  // 256 bits

std::string secret_digest(std::string_view text) {
  return sha256(std::as_bytes(std::span(text)));
}

}  // namespace

std::optional<std::string> ClientSecrets::add(ClientSecret secret, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(secrets_, [&](const auto& known) { return known.second.expires_at <= now; });
  if (secrets_.size() >= kMost) return std::nullopt;
  std::string text = random_id("ek_", kSecretCharacters);
  secrets_.emplace(secret_digest(text), std::move(secret));
  return text;
}

std::optional<ClientSecret> ClientSecrets::find(std::string_view text, Clock::time_point now) const {
  if (!text.starts_with("ek_")) return std::nullopt;
  const std::string digest = secret_digest(text);
  const std::lock_guard lock(mutex_);
  const auto known = secrets_.find(digest);
  if (known == secrets_.end() || known->second.expires_at <= now) return std::nullopt;
  return known->second;
}

std::chrono::seconds ClientSecrets::time_until_room(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  if (secrets_.size() < kMost) return {};
  auto first = Clock::time_point::max();
  for (const auto& [digest, secret] : secrets_) first = std::min(first, secret.expires_at);
  return std::max(std::chrono::seconds(1), std::chrono::ceil<std::chrono::seconds>(first - now));
}

}  // namespace parlance
