#include "server/server.h"

#include <thread>

#include "realtime/model_parts.h"
#include "server/site_loading.h"
#include "server/site_service.h"

namespace parlance {

using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kSavingTime{10000};  // of conversations, at the end

}  // namespace

Server::Server() = default;

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  if (!is_local_address(options.listener.host) && options.gate.keys.empty() && !options.is_open) {
    return fail(
        ErrorCode::invalid_argument,
        "whoever reaches {} could use this server; give --api-key-file, or --no-auth if everybody may",
        options.listener.host);
  }
  options.gate.bound_address = options.listener.host;
  options.models.synthesizer.n_phrases = kKeptPhrases;
  for (const std::string& origin : options.gate.cors_origins) PARLANCE_CHECK(check_origin(origin));
  std::unique_ptr<Server> server(new Server);
  server->site_ = std::make_unique<Site>(std::move(options));
  server->service_ = std::make_unique<SiteService>(*server->site_);
  PARLANCE_TRY(server->listener_, Listener::open(server->site_->options.listener, *server->service_));
  server->site_->listener = server->listener_.get();
  server->loading_ = std::make_unique<SiteLoading>(*server->site_);
  return server;
}

Server::~Server() {
  drain();
  if (loading_) loading_->end();
  if (site_) site_->cut_all();
  if (site_) site_->listener = nullptr;
  if (site_) site_->wyoming = nullptr;
  if (loading_) loading_->close_doors();
  listener_.reset();  // all clients have left now, and what was made for them ends
  if (!site_) return;
  site_->prep.stop();
  site_->sound.stop();
  site_->strands.stop();  // sessions, which ask with what ends below
  while (site_->n_running > 0 || site_->n_embedding > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  site_->answers.finish();       // what was cut may still be spoken, until it is told so
  site_->conversations.reset();  // when nobody uses them any more
}

uint16_t Server::wyoming_port() const {
  const WyomingDoor* const door = site_->wyoming;
  return door ? door->port() : 0;
}

// Connections that something is being done for.
int64_t Server::n_at_work() const {
  const WyomingDoor* const door = site_->wyoming;
  return listener_->counts().n_active + (door ? door->n_at_work() : 0);
}

uint16_t Server::port() const {
  return listener_->port();
}

Result<void> Server::wait_until_ready() {
  return loading_->wait_until_ready();
}

void Server::drain() {
  if (site_) site_->phase = ServerPhase::draining;
  if (listener_) listener_->drain_sockets();
  if (loading_) loading_->drain();
}

bool Server::finish(std::chrono::milliseconds grace) {
  const bool is_whole = finish_answers(grace);
  if (site_->phase == ServerPhase::draining && site_->is_loaded)
    (void)site_->conversations->save_all(kSavingTime);
  return is_whole;
}

bool Server::finish_answers(std::chrono::milliseconds grace) {
  const auto end = Clock::now() + grace;
  while (n_at_work() > 0 && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (n_at_work() == 0) return true;
  site_->cut_all();
  listener_->close_sockets(SocketCode::going_away, "the server ends");
  // What has been cut is told so; that takes no longer than a step.
  const auto late = Clock::now() + std::chrono::seconds(2);
  while (n_at_work() > 0 && Clock::now() < late) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace parlance
