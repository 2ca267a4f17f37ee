// The tables of fields against the recorded ones, and every field in the class that it says.
#include "server/fields.h"

#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;

struct TableOfRoute {
  const char* route;
  std::span<const Field> fields;
};

const TableOfRoute kTables[] = {
    {"/v1/chat/completions", chat_fields()}, {"/v1/completions", completion_fields()},
    {"/v1/embeddings", embedding_fields()},  {"/v1/responses", responses_fields()},
    {"/v1/audio/speech", speech_fields()},   {"/v1/audio/transcriptions", transcription_fields()}};

char letter_of(FieldClass field_class) {
  switch (field_class) {
    case FieldClass::acted:
      return 'A';
    case FieldClass::ignored:
      return 'I';
    case FieldClass::neutral:
      return 'N';
    case FieldClass::refused:
      return 'R';
  }
  return '?';
}

TEST(FieldTables, HaveEveryRecordedFieldInItsClassAndRange) {
  PARLANCE_REQUIRE_FIXTURES("server");
  const json recorded = test::read_json(test::fixtures_root() / "server/fields.json");
  for (const TableOfRoute& table : kTables) {
    const json& wanted = recorded[table.route];
    EXPECT_EQ(table.fields.size(), wanted.size()) << table.route;
    for (const Field& field : table.fields) {
      const std::string name(field.name);
      SCOPED_TRACE(std::string(table.route) + " " + name);
      ASSERT_TRUE(wanted.contains(name));
      const json& row = wanted[name];
      EXPECT_EQ(std::string(1, letter_of(field.field_class)), row[0]);
      if (row.size() > 2 && row[2].is_number()) {
        EXPECT_EQ(field.lowest, row[2].get<double>());
      }
      if (row.size() > 3 && row[3].is_number()) {
        EXPECT_EQ(field.highest, row[3].get<double>());
      }
      if (row.size() > 3 && row[3] == "ctx") {
        EXPECT_TRUE(field.is_up_to_context);
      }
      if (row.size() > 2 && row[2] == ">0") {
        EXPECT_TRUE(field.is_open && field.lowest == 0);
      }
      if (field.type == FieldType::choice || field.field_class == FieldClass::neutral) {
        EXPECT_EQ(field.words, row[1]);
      }
    }
  }
}

// A value of a kind that the field does not take.
json of_wrong_type(const Field& field) {
  switch (field.type) {
    case FieldType::boolean:
      return "yes";
    case FieldType::text:
    case FieldType::choice:
    case FieldType::base64:
    case FieldType::text_or_array:
    case FieldType::text_or_object:
      return 5;
    default:
      return "five";
  }
}

void put(json& body, std::string_view name, const json& value) {
  const size_t point = name.find('.');
  if (point == std::string_view::npos) {
    body[std::string(name)] = value;
  } else {
    body[std::string(name.substr(0, point))][std::string(name.substr(point + 1))] = value;
  }
}

class FieldClasses : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ServerOptions options = test::demo_options();
    options.models.files.embedding = test::demo_text_file();
    server_ = test::start_server(options).release();
  }
  static void TearDownTestSuite() { delete server_; }
  void SetUp() override { ASSERT_TRUE(server_); }

  static json good_body(const std::string& route) {
    if (route == "/v1/chat/completions") {
      return {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}, {"max_tokens", 1}, {"temperature", 0}};
    }
    if (route == "/v1/completions") return {{"prompt", "Hi"}, {"max_tokens", 1}, {"temperature", 0}};
    if (route == "/v1/embeddings") return {{"input", "Hi"}};
    if (route == "/v1/responses") return {{"input", "Hi"}, {"max_output_tokens", 1}, {"temperature", 0}};
    return {{"input", "!"}, {"voice", "default"}, {"response_format", "pcm"}};  // nothing that can be said
  }

  void expect_refused(const std::string& route, std::string_view name, const json& value,
                      const std::string& code) {
    json body = good_body(route);
    put(body, name, value);
    const test::ClientAnswer answer = test::ask(server_->port(), "POST", route, body.dump());
    EXPECT_EQ(answer.status, 400) << body.dump();
    const json error = json::parse(answer.body, nullptr, false)["error"];
    EXPECT_EQ(error["code"], code) << answer.body;
    EXPECT_EQ(error["param"], std::string(name)) << answer.body;
    EXPECT_EQ(error["type"], "invalid_request_error");
  }

  static Server* server_;
};

Server* FieldClasses::server_ = nullptr;

TEST_F(FieldClasses, WrongTypesAndValuesOutOfRangeAreRefusedByName) {
  for (const TableOfRoute& table : kTables) {
    const std::string route = table.route;
    if (route == "/v1/audio/transcriptions") continue;  // a form: all its values are texts
    for (const Field& field : table.fields) {
      SCOPED_TRACE(route + " " + std::string(field.name));
      if (field.field_class == FieldClass::refused) {
        expect_refused(route, field.name, 1, "unsupported_parameter");
      } else if (field.field_class == FieldClass::neutral) {
        expect_refused(route, field.name, 2, "unsupported_value");
      } else if (field.type != FieldType::any) {
        expect_refused(route, field.name, of_wrong_type(field), "invalid_type");
      }
      const bool is_number = field.type == FieldType::number || field.type == FieldType::integer;
      if (is_number && field.lowest != -kNoLimit) {
        expect_refused(route, field.name, field.is_open ? field.lowest : field.lowest - 1, "invalid_value");
      }
      if (is_number && (field.highest != kNoLimit || field.is_up_to_context)) {
        const double highest = field.is_up_to_context ? 1024 : field.highest;
        expect_refused(route, field.name, static_cast<int64_t>(highest) + 1, "invalid_value");
      }
      if (field.type == FieldType::choice)
        expect_refused(route, field.name, "nothing of the kind", "invalid_value");
    }
  }
}

TEST_F(FieldClasses, IgnoredFieldsAreNamedInTheirOrder) {
  for (const TableOfRoute& table : kTables) {
    const std::string route = table.route;
    if (route == "/v1/audio/transcriptions" || route == "/v1/audio/speech") continue;
    json body = good_body(route);
    std::string names;
    for (const Field& field : table.fields) {
      if (field.field_class != FieldClass::ignored) continue;
      put(body, field.name,
          field.type == FieldType::boolean  ? json(true)
          : field.type == FieldType::object ? json::object()
          : field.type == FieldType::array  ? json::array()
                                            : json("x"));
    }
    const test::ClientAnswer answer = test::ask(server_->port(), "POST", route, body.dump());
    EXPECT_EQ(answer.status, 200) << answer.body;
    const std::string header = "," + answer.field("x-parlance-ignored") + ",";
    for (const Field& field : table.fields) {
      const bool is_named = header.find("," + std::string(field.name) + ",") != std::string::npos;
      EXPECT_EQ(is_named, field.field_class == FieldClass::ignored) << field.name;
    }
  }
}

}  // namespace
}  // namespace parlance
