#include "server/outgoing.h"

#include <utility>

#include "server/call_queue.h"

namespace parlance {

namespace {

using Clock = std::chrono::steady_clock;

class ReplyTo final : public Reply {
 public:
  ReplyTo(std::shared_ptr<boost::asio::io_context> io, std::shared_ptr<Outgoing> outgoing,
          std::function<void()> on_change)
      : io_(std::move(io)), outgoing_(std::move(outgoing)), on_change_(std::move(on_change)) {}
  ~ReplyTo() override { break_off(); }

  void send(HttpAnswer answer) override {
    post([answer = std::move(answer)](Outgoing& out) mutable {
      out.head = std::move(answer);
      out.is_whole = out.has_ended = true;
    });
  }
  void begin(HttpAnswer head) override {
    std::string body = std::exchange(head.body, {});
    post([head = std::move(head)](Outgoing& out) mutable { out.head = std::move(head); });
    write(std::move(body));
  }
  void write(std::string piece) override {
    if (piece.empty()) return;
    const size_t n_bytes = piece.size();
    post([piece = std::move(piece)](Outgoing& out) mutable { out.pieces.push_back(std::move(piece)); },
         n_bytes);
  }
  void end() override {
    post([](Outgoing& out) { out.has_ended = true; });
  }
  void break_off() override {
    post([](Outgoing& out) { out.has_ended = out.is_broken = true; });
  }

  Cancellation ticket() const override { return outgoing_->ticket; }
  std::optional<Clock::time_point> left_at() const override {
    const Clock::time_point at = outgoing_->left_at;
    return at == Clock::time_point() ? std::nullopt : std::optional(at);
  }
  void when_left(std::function<void()> on_left) override { outgoing_->when_left(std::move(on_left)); }
  size_t n_unsent() const override { return outgoing_->unsent.n_bytes(); }
  void when_taken(std::function<void()> on_taken) override {
    outgoing_->unsent.when_taken(std::move(on_taken));
    outgoing_->tell(outgoing_->ticket.cancelled());
  }

 private:
  // What comes behind the end is dropped. `n_bytes` of it are of the body.
  template <class Change>
  void post(Change change, size_t n_bytes = 0) {
    outgoing_->unsent.add(n_bytes);
    queue_->post(
        *io_, [outgoing = outgoing_, on_change = on_change_, change = std::move(change), n_bytes]() mutable {
          if (outgoing->has_ended) {
            outgoing->unsent.take(n_bytes);
          } else {
            change(*outgoing);
          }
          on_change();
        });
  }

  const std::shared_ptr<boost::asio::io_context> io_;
  const std::shared_ptr<CallQueue> queue_ = std::make_shared<CallQueue>();
  const std::shared_ptr<Outgoing> outgoing_;
  const std::function<void()> on_change_;
};

}  // namespace

void Outgoing::leave() {
  Clock::time_point expected = {};
  left_at.compare_exchange_strong(expected, Clock::now());
  source.cancel();
  tell(/*at_any_rate=*/true);
  std::function<void()> call;
  {
    const std::lock_guard lock(left_mutex);
    call.swap(on_left);
  }
  if (call) call();
}

void Outgoing::when_left(std::function<void()> call) {
  {
    const std::lock_guard lock(left_mutex);
    if (!ticket.cancelled()) {
      on_left = std::move(call);
      return;
    }
  }
  call();
}

std::shared_ptr<Reply> make_reply(std::shared_ptr<boost::asio::io_context> io,
                                  std::shared_ptr<Outgoing> outgoing, std::function<void()> on_change) {
  return std::make_shared<ReplyTo>(std::move(io), std::move(outgoing), std::move(on_change));
}

}  // namespace parlance
