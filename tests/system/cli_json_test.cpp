// `quipu -o json`: one document on stdout, whatever happens, of the shape that
// node/cli/README.md shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "quipu/node.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"
#include "tests/system/cli_runner.h"
#include "tests/system/daemons.h"
#include "tests/system/fake_node.h"
#include "tests/system/process.h"

namespace quipu::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Arguments = std::vector<std::string>;

constexpr const char* kNotUnderstood = "";

// ---- the page ----

std::vector<std::string> quoted_commands(const std::string& heading) {
  std::vector<std::string> commands;
  for (std::size_t at = 0; (at = heading.find("`quipu ", at)) != std::string::npos;) {
    at += std::string("`quipu ").size();
    commands.push_back(heading.substr(at, heading.find('`', at) - at));
  }
  if (commands.empty()) commands.emplace_back(kNotUnderstood);
  return commands;
}

// The shape below each heading, by the commands that the heading names.
std::map<std::string, json> documented_shapes() {
  std::map<std::string, json> shapes;
  std::vector<std::string> commands;
  std::string block, line;
  bool inside = false;
  std::ifstream page("node/cli/README.md");
  while (std::getline(page, line)) {
    if (line.starts_with("### ")) commands = quoted_commands(line);
    if (inside && line == "```") {
      inside = false;
      for (const std::string& command : commands) shapes[command] = json::parse(block);
    }
    if (inside) block += line + '\n';
    if (line == "```json") {
      inside = true;
      block.clear();
    }
  }
  return shapes;
}

bool is_a(const json& value, std::string_view type) {
  if (type == "text") return value.is_string();
  if (type == "whole number") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "true") return value == true;
  if (type == "false") return value == false;
  return type == "null" && value.is_null();
}

bool is_any_of(const json& value, std::string_view types) {
  for (;;) {
    const std::size_t end = types.find(" or ");
    if (is_a(value, types.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    types.remove_prefix(end + 4);
  }
}

void expect_shape(const json& shape, const json& value, const std::string& path);

void expect_object(const json& shape, const json& value, const std::string& path) {
  ASSERT_TRUE(value.is_object()) << path;
  const bool any_key = shape.contains("*");
  for (const auto& [key, inner] : shape.items()) {
    const bool optional = inner == "text, if not UTF-8";
    EXPECT_TRUE(any_key || optional || value.contains(key)) << path << '.' << key;
  }
  for (const auto& [key, inner] : value.items()) {
    const std::string at = path + '.' + key;
    if (!any_key && !shape.contains(key)) {
      ADD_FAILURE() << at << " is not documented";
      continue;
    }
    json expected = shape.at(any_key ? "*" : key);
    if (expected == "text, if not UTF-8") expected = "text";
    expect_shape(expected, inner, at);
  }
}

void expect_shape(const json& shape, const json& value, const std::string& path) {
  if (shape.is_object()) return expect_object(shape, value, path);
  if (shape.is_array()) {
    ASSERT_TRUE(value.is_array()) << path;
    for (const json& element : value) expect_shape(shape.at(0), element, path + "[]");
    return;
  }
  EXPECT_TRUE(is_any_of(value, shape.get<std::string>())) << path << " is " << value.dump();
}

// ---- the commands ----

class CliJson : public testing::Test {
 protected:
  void SetUp() override {
    NodeOptions options;
    options.data_directory = directory_ / "data";
    options.client_address = "127.0.0.1:0";
    auto node = Node::open(options);
    ASSERT_TRUE(node.ok()) << node.status().message();
    node_ = std::move(*node);
    ASSERT_TRUE(node_->wait_ready(std::chrono::seconds(20)));
  }

  // Runs it, and compares the document with the page. `command`: as the page names it.
  json run(const std::string& command, Arguments arguments, CliInput input = {}) {
    arguments.insert(arguments.end(), {"-o", "json"});
    if (input.nodes.empty()) input.nodes = {node_->client_address()};
    const CliResult result = run_cli(arguments, input);
    SCOPED_TRACE(testing::PrintToString(arguments) + " said " + result.out + result.err);
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
    EXPECT_TRUE(std::all_of(result.out.begin(), result.out.end(),
                            [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n'; }));
    json document = json::parse(result.out, nullptr, false);
    if (document.is_discarded()) {
      ADD_FAILURE() << "not one JSON document";
      return json::object();
    }
    expect_shape(shapes_.at(command), document, "");
    EXPECT_EQ(document.value("code", "") == "ok", result.exit == 0);
    EXPECT_EQ(document.value("outcome", "") == "unknown", result.exit == 3);
    EXPECT_EQ(document.value("message", "").empty(), result.exit == 0);
    EXPECT_EQ(document["command"], command == kNotUnderstood ? json() : json(command));
    (result.exit == 0 ? succeeded_ : failed_).insert(command);
    return document;
  }

  // Every documented command did both.
  void expect_all_ran() {
    for (const auto& [command, shape] : shapes_) {
      if (command == kNotUnderstood) continue;
      EXPECT_TRUE(succeeded_.contains(command)) << command;
      if (command == "secret") continue;  // it cannot fail
      EXPECT_TRUE(failed_.contains(command)) << command;
    }
  }

  const std::map<std::string, json> shapes_ = documented_shapes();
  std::set<std::string> succeeded_, failed_;
  const TemporaryDirectory directory_;
  std::unique_ptr<Node> node_;
};

TEST_F(CliJson, EveryCommandPrintsTheDocumentedShapeInSuccessAndFailure) {
  run("add", {"add", "likes", "5"});
  run("add", {"add", "\xff"});
  run("shards", {"shards", "likes", "2"});
  run("get", {"get", "likes", "nobody", "\xff"});
  run("distinct add", {"distinct", "add", "visitors", "ann"});
  run("distinct count", {"distinct", "count", "visitors", "\xfe"});
  run("top add", {"top", "add", "pages", "\xfe"});
  run("top begin", {"top", "begin", "pages"});
  run("top list", {"top", "list", "pages"});
  run("frequency add", {"frequency", "add", "queries", "\xfe"});
  run("frequency begin", {"frequency", "begin", "queries"});
  run("frequency query", {"frequency", "query", "queries", "\xfe", "a"});
  run("reset", {"reset", "likes"});
  run("reset", {"reset", "likes", "--windows"});
  run("ls", {"ls"});
  run("ingest", {"ingest"}, {.text = "a\nb 2\n"});
  run("namespace create", {"namespace", "create", "likes", "--ack", "quorum", "--shards", "2"});
  run("namespace create", {"namespace", "create", "\xff", "--ttl", "1h"});
  run("namespace set", {"namespace", "set", "", "--strict", "no", "--decide", "home"});
  run("namespace create",
      {"namespace", "create", "hits", "--tiers", "1m for ever", "--late", "1m"});
  run("namespace apply", {"namespace", "apply", "hits"});
  run("add", {"add", "hits:a"});
  run("range", {"range", "hits:a", "--last", "2m"});
  run("namespace show", {"namespace", "show", "likes"});
  run("namespace ls", {"namespace", "ls"});
  run("namespace drop", {"namespace", "drop", "\xff"});
  run("cluster status", {"cluster", "status"});
  run("config show", {"config", "show", "--name", "n1", "--data", "d"});
  run("user new", {"user", "new", "web", "--may", "read"});
  run("secret", {"secret"});
  run("bench", {"bench", "--seconds", "1", "--connections", "2", "--keys", "10"});

  const CliInput nobody{.nodes = {"127.0.0.1:1"}};
  run("add", {"add", "likes"}, nobody);
  run("shards", {"shards", "likes", "2"}, nobody);
  run("get", {"get", "likes", "\xff"}, nobody);
  run("distinct add", {"distinct", "add", "visitors", "ann"}, nobody);
  run("distinct count", {"distinct", "count", "visitors"}, nobody);
  run("distinct count", {"distinct", "count", "likes"});
  run("top add", {"top", "add", "likes", "ann"}, nobody);
  run("top begin", {"top", "begin", "likes"}, nobody);
  run("top list", {"top", "list", "likes"}, nobody);
  run("frequency add", {"frequency", "add", "likes", "ann"}, nobody);
  run("frequency begin", {"frequency", "begin", "likes"}, nobody);
  run("frequency query", {"frequency", "query", "likes", "ann"}, nobody);
  run("reset", {"reset", "likes"}, nobody);
  run("range", {"range", "likes", "--last", "2m"});
  run("range", {"range", "likes", "--last", "2m"}, nobody);
  run("ls", {"ls"}, nobody);
  run("ingest", {"ingest"}, nobody);
  run("ingest", {"ingest", "/no/such/file"});
  run("namespace create", {"namespace", "create", "views"}, nobody);
  run("namespace create", {"namespace", "create", "likes"});
  run("namespace set", {"namespace", "set", "likes", "--ack", "disk"}, nobody);
  run("namespace set", {"namespace", "set", "views", "--ack", "disk"});
  run("namespace apply", {"namespace", "apply", "views"});
  run("namespace show", {"namespace", "show", "likes"}, nobody);
  run("namespace show", {"namespace", "show", "views"});
  run("namespace ls", {"namespace", "ls"}, nobody);
  run("namespace drop", {"namespace", "drop", "likes"}, nobody);
  run("namespace drop", {"namespace", "drop", "views"});
  run("ingest", {"ingest"}, {.text = "a one\nb\n"});
  run("cluster status", {"cluster", "status"}, nobody);
  run("config show", {"config", "show", "--reactors", "99"});
  run("user new", {"user", "new", "web", "--may", "write"});
  run("bench", {"bench", "--seconds", "1"}, nobody);
  expect_all_ran();
}

TEST_F(CliJson, EveryCommandOfTheHelpIsDocumented) {
  const std::string help = run_cli({"--help"}).out;
  std::size_t commands = 0;
  std::istringstream lines(help.substr(help.find("ommands:")));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("  ")) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    ++commands;
    const auto at = shapes_.lower_bound(name);
    EXPECT_TRUE(at != shapes_.end() && at->first.starts_with(name)) << name;
  }
  EXPECT_GE(commands, 10u);
}

TEST_F(CliJson, ACommandLineThatIsNotUnderstoodPrintsADocumentToo) {
  for (const Arguments& arguments : std::vector<Arguments>{
           {}, {"frob"}, {"add"}, {"add", "k", "one"}, {"get", "k", "--timeout", "never"}}) {
    const json document = run(kNotUnderstood, arguments);
    EXPECT_EQ(document.at("code"), "invalid_argument");
  }
  for (const Arguments& arguments : std::vector<Arguments>{
           {"-ojson", "add"}, {"--output=json", "add"}, {"--output", "json", "add"}}) {
    const CliResult result = run_cli(arguments);
    EXPECT_EQ(result.exit, 2);
    EXPECT_EQ(json::parse(result.out).at("outcome"), "not_applied");
  }
  EXPECT_EQ(run_cli({"add", "-o", "table"}).out, "");
}

TEST_F(CliJson, TotalsAreTextAsWell) {
  run("add", {"add", "most", "9223372036854775807"});
  run("add", {"add", "least", "-9223372036854775808"});
  const json got = run("get", {"get", "most", "least"});
  EXPECT_EQ(got.at("counters")[0].at("value_text"), "9223372036854775807");
  EXPECT_EQ(got.at("counters")[1].at("value_text"), "-9223372036854775808");
}

TEST_F(CliJson, AChangeThatMayHaveHappenedIsUnknown) {
  FakeNode doubtful([](const std::string&, int) { return FakeNode::Reaction{.answer = {}}; });
  const json added =
      run("add", {"add", "k", "--timeout", "300ms"}, {.nodes = {doubtful.address()}});
  EXPECT_EQ(added.at("code"), "in_doubt");
  EXPECT_THAT(added.at("message").get<std::string>(), HasSubstr("look at the total"));
  const json counted = run("ingest", {"ingest", "--timeout", "300ms"},
                           {.nodes = {doubtful.address()}, .text = "k\n"});
  EXPECT_EQ(counted.at("unknown_lines"), 1);
}

TEST_F(CliJson, EachCounterThatCannotBeReadSaysWhyForItself) {
  const json unread = run("get", {"get", "a", "b"}, {.nodes = {"127.0.0.1:1"}});
  for (const json& counter : unread.at("counters")) {
    EXPECT_EQ(counter.at("code"), "unavailable");
    EXPECT_EQ(counter.at("value"), nullptr);
  }
}

TEST(CliJsonOfACluster, AListIsCompleteOnlyWhileItsNodeHearsEveryOther) {
  Daemons daemons(3);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  const CliInput first{.nodes = {daemons.client_address(0)}};
  ASSERT_EQ(run_cli({"add", "k", "--ack", "quorum"}, first).exit, 0);
  const auto list = [&] { return json::parse(run_cli({"ls", "-o", "json"}, first).out); };
  ASSERT_TRUE(eventually([&] { return list().at("complete") == true; }));
  daemons.end(1, SIGKILL);
  daemons.end(2, SIGKILL);
  ASSERT_TRUE(eventually([&] { return list().at("complete") == false; }));
  const json alone = list();
  EXPECT_EQ(alone.at("code"), "ok");
  EXPECT_EQ(alone.at("counters"), json::parse(R"([{"key": "k", "kind": "sum"}])"));
  EXPECT_THAT(alone.at("caveat").get<std::string>(), HasSubstr("n1 cannot hear n2 and n3"));
  const CliResult text = run_cli({"ls"}, first);
  EXPECT_EQ(text.exit, 0);
  EXPECT_THAT(text.err, HasSubstr("the latest counters may be missing: n1 cannot hear n2 and n3"));
}

// More members than owners: the list comes from several nodes.
TEST(CliJsonOfACluster, AListOfSeveralNodesIsCompleteWhileAllOfThemHearEachOther) {
  Daemons daemons(4);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  const CliInput first{.nodes = {daemons.client_address(0)}};
  const auto list = [&] { return json::parse(run_cli({"ls", "-o", "json"}, first).out); };
  EXPECT_TRUE(eventually([&] { return list().at("complete") == true; }));
  daemons.end(3, SIGKILL);
  EXPECT_TRUE(eventually([&] { return list().at("complete") == false; }));
}

}  // namespace
}  // namespace quipu::test
