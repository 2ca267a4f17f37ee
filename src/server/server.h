// The server: one process, one address, the models of a choice for many clients.
#pragma once

#include <chrono>
#include <memory>

#include "base/result.h"
#include "server/site.h"

namespace parlance {

class SiteLoading;
class SiteService;

class Server {
 public:
  // Listens at once; the models are loaded meanwhile, and requests that need them are told so until then.
  // Errors: options that cannot be; an address that cannot be listened on.
  static Result<std::unique_ptr<Server>> start(ServerOptions options);
  // Ends everything that is still under way.
  ~Server();

  uint16_t port() const;
  // Of the Wyoming protocol, once the server is ready; 0: it is not spoken.
  uint16_t wyoming_port() const;
  Site& site() { return *site_; }

  // Until the language model answers. Errors: of whatever could not be loaded.
  Result<void> wait_until_ready();

  // From now on nothing new is begun, and answers say that the connection ends. From any thread.
  void drain();
  // Until all that was begun is done, or the time has passed; then it is cut. Open conversations are put
  // away. False: something was cut.
  bool finish(std::chrono::milliseconds grace);

 private:
  bool finish_answers(std::chrono::milliseconds grace);
  int64_t n_at_work() const;

  Server();

  std::unique_ptr<Site> site_;
  std::unique_ptr<SiteService> service_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<SiteLoading> loading_;
};

}  // namespace parlance
