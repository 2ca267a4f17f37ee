// Heads of requests and answers as text.
#pragma once

#include <string>
#include <string_view>

#include "server/http_message.h"

namespace parlance {

// A head that check_head() has let through, as a request; its body and who sent it are left out.
HttpRequest request_of(std::string_view head);

// The client's own name for a request, if that may stand in a head and a log; else one of ours.
std::string id_of(const HttpRequest& request);

// Whether the client wants the connection to end with the answer.
bool wants_close(const HttpRequest& request);

// Whether the head promises a body.
bool has_body(const HttpRequest& request);

// How the other side knows where a body ends.
enum class Framing { length, chunks, end_of_connection };

std::string head_text(const HttpAnswer& answer, Framing framing);
std::string chunk_text(std::string_view piece);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace parlance
