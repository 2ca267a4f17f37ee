// What a listener asks of the server: who may ask for what, and what is done with a request.
#pragma once

#include <optional>

#include "server/listener.h"
#include "server/router.h"
#include "server/site.h"

namespace parlance {

class SiteService final : public HttpService {
 public:
  // The site outlives it.
  explicit SiteService(Site& site) : site_(site) {}

  Admission admit(const HttpRequest& head) override;
  void serve(HttpRequest request, std::shared_ptr<Reply> reply) override;
  HttpAnswer refuse(int status, const std::string& why) override;
  void complete(const HttpRequest& request, HttpAnswer& answer) override;
  void note(const HttpRequest& request, int status, bool was_cut) override;
  bool is_draining() const override { return site_.phase == ServerPhase::draining; }

 private:
  Admission admit_socket(const HttpRequest& head, const Route& route, Caller caller);
  ApiResult<Caller> with_client_secret(const HttpRequest& head, ApiResult<Caller> caller) const;
  ApiResult<Caller> pass_forwarded(const HttpRequest& request, KeyNeed need) const;
  std::optional<ApiError> check_phase() const;

  Site& site_;
};

}  // namespace parlance
