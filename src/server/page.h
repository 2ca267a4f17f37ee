// The web page to talk to: a handful of files that are part of the program (webui/).
#pragma once

#include <span>
#include <string_view>

#include "server/http_message.h"

namespace parlance {

struct PageFile {
  std::string_view path;        // "/app.js"
  std::string_view media_type;  // "text/javascript; charset=utf-8"
  std::string_view content;
  std::string_view etag;  // of the content, in its quotation marks
};

std::span<const PageFile> page_files();

// Null: no file of the page has this path.
const PageFile* find_page_file(std::string_view path);

// The file of a request's path, which there is; 304 to those who have it. Browsers run nothing in it that is
// not from here, and connect it to nobody else.
HttpAnswer page_answer(const HttpRequest& request);

}  // namespace parlance
