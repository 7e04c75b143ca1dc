// What `quipu` says of itself, and of command lines that are invalid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/system/cli_of_one_node.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CliUsage : public Cli {};

TEST_F(CliUsage, BadInputIsOneLineThatSaysWhatToDoAndExits2) {
  const std::string longest(512, 'k');
  const struct {
    std::vector<std::string> arguments;
    std::string says;
  } cases[] = {
      {{}, "write a command"},
      {{"frob"}, "\"frob\" is not a command: write a command"},
      {{""}, "\"\" is not a command"},
      {{"cluster"}, "write quipu cluster status"},
      {{"config"}, "write quipu config show"},
      {{"cluster", "stats"}, "\"stats\" is not expected: did you mean cluster status?"},
      {{"config", "list"}, "did you mean config show?"},
      {{"distinct"}, "write quipu distinct add or count"},
      {{"distinct", "cuont"}, "\"cuont\" is not expected: did you mean distinct count?"},
      {{"distinct", "frobnicate"}, "is not expected: write quipu distinct add or count"},
      {{"distinct", "add"}, "KEY is required (see quipu distinct add --help)"},
      {{"distinct", "add", "k"}, "ELEMENT is required (see quipu distinct add --help)"},
      {{"distinct", "add", "k", "a", "--strong"}, "\"--strong\" is not expected"},
      {{"distinct", "add", "k", "a", "--ack", "some"}, "choose one of disk, memory, quorum"},
      {{"distinct", "add", "", "a"}, "a key has 1 to 512 bytes"},
      {{"distinct", "count"}, "KEY is required (see quipu distinct count --help)"},
      {{"distinct", "count", "k", longest + "k"}, "the key has 513 bytes"},
      {{"distinct", "count", "k", "--fresh", "--strong"}, "give only one of"},
      {{"pfadd", "k", "a"}, "did you mean distinct add?"},
      {{"ls", "--kind", "tops"},
       "--kind \"tops\": choose one of distinct, frequency, maximum, sum, top"},
      {{"ingest", "--kind", "distinct"}, "--kind: write --key KEY, too"},
      {{"ingest", "--key", "k"}, "--key: write --kind, too: distinct, frequency, top"},
      {{"ingest", "--kind", "distinct", "--key", ""}, "a key has 1 to 512 bytes"},
      {{"ingest", "--kind", "distinct", "--key", longest + "k"}, "the key has 513 bytes"},
      {{"ingest", "--kind", "distinct", "--key", "a\nb"}, "use a key without a newline"},
      {{"ingest", "--kind", "sum", "--key", "k"},
       "--kind sum: leave it out, and write lines of KEY [N]"},
      {{"ingest", "--kind", "maximum", "--key", "k"},
       "--kind \"maximum\": choose one of distinct, frequency, top"},
      {{"ingest", "--kind", "", "--key", "k"},
       "--kind \"\": choose one of distinct, frequency, top"},
      {{"incr", "k"}, "\"incr\" is not a command: did you mean add?"},
      {{"INCRBY", "k", "5"}, "did you mean add?"},
      {{"del", "k"}, "did you mean reset?"},
      {{"delete", "k"}, "did you mean reset?"},
      {{"rm", "k"}, "did you mean reset?"},
      {{"status"}, "did you mean cluster status?"},
      {{"--node", "a:1", "status"}, "did you mean cluster status?"},
      {{"shard", "k", "2"}, "did you mean shards?"},
      {{"ingets"}, "did you mean ingest?"},
      {{"namespaces"}, "did you mean namespace ls?"},
      {{"namespac"}, "did you mean namespace?"},
      {{"create", "likes"}, "did you mean namespace create?"},
      {{"namespace"}, "write quipu namespace create, set, apply, drop, show or ls"},
      {{"namespace", "frobnicate"}, "is not expected: write quipu namespace create, set"},
      {{"namespace", "list"}, "did you mean namespace ls?"},
      {{"namespace", "creat", "likes"}, "did you mean namespace create?"},
      {{"namespace", "delete", "likes"}, "did you mean namespace drop?"},
      {{"namespace", "create"}, "NAME is required (see quipu namespace create --help)"},
      {{"namespace", "create", ""}, "the default namespace always exists"},
      {{"namespace", "create", "likes:"}, "write only what is before the first ':' of a key"},
      {{"namespace", "create", longest},
       "NAME has 512 bytes: the name of a namespace has at most 64"},
      {{"namespace", "create", "likes", "--strict", "yes"}, "\"--strict\" is not expected"},
      {{"namespace", "create", "likes", "--ack", "default"}, "choose one of disk, memory, quorum"},
      {{"namespace", "create", "likes", "--shards", "default"}, "from 1 to 1024"},
      {{"namespace", "create", "likes", "--shards", "1025"}, "from 1 to 1024"},
      {{"namespace", "create", "likes", "more"}, "\"more\" is not expected"},
      {{"namespace", "create", "likes", "--ttl", "default"}, "--ttl \"default\": write a duration"},
      {{"namespace", "create", "likes", "--ttl", "0s"},
       "--ttl \"0s\": write a duration above 0 and up to 365000d, such as 500ms, 5s or 2h"},
      {{"namespace", "set", "likes", "--ttl", "365001d"}, "--ttl \"365001d\": write a duration"},
      {{"namespace", "set", "likes", "--ttl", ""}, "--ttl \"\": write a duration"},
      {{"namespace", "create", "likes", "--decide", "default"}, "choose one of home, local"},
      {{"namespace", "create", "likes", "--decide", "away"},
       "--decide \"away\": choose one of home, local"},
      {{"namespace", "create", "likes", "--decied", "home"}, "did you mean --decide?"},
      {{"namespace", "set", "likes", "--decide", ""}, "choose one of default, home, local"},
      {{"namespace", "set", "likes"},
       "nothing to set: give --ack, --read, --shards, --ttl, --decide, --tiers, --late or "
       "--strict"},
      {{"namespace", "create", "likes", "--kind", "colour"},
       "--kind \"colour\": choose one of distinct, frequency, maximum, sum, top"},
      {{"namespace", "create", "likes", "--kind", "distinct", "--precision", "17"},
       "from 10 to 16"},
      {{"namespace", "create", "likes", "--precision", "11"},
       "--precision: only counters of --kind distinct have one"},
      {{"namespace", "create", "likes", "--kind", "sum", "--precision", "11"},
       "--precision: only counters of --kind distinct have one"},
      {{"namespace", "set", "likes", "--kind", "sum"},
       "--kind: the kind of a namespace's counters"},
      {{"namespace", "set", "likes", "--precision", "11"}, "are fixed when it is created"},
      {{"namespace", "set", "likes", "--ack", ""}, "choose one of default, disk, memory, quorum"},
      {{"namespace", "set", "likes", "--read", "x"}, "choose one of default, fresh, local, strong"},
      {{"namespace", "set", "likes", "--shards", "0"}, "--shards \"0\": write a whole number"},
      {{"namespace", "set", "likes", "--strict", "no"}, "only the default namespace"},
      {{"namespace", "set", "", "--strict", "maybe"}, "choose one of default, no, yes"},
      {{"namespace", "drop", ""}, "the default namespace cannot be dropped"},
      {{"namespace", "ls", "likes"}, "\"likes\" is not expected"},
      {{"gt", "k"}, "did you mean get?"},
      {{"hlep"}, "did you mean help?"},
      {{"add", "k", "--akc", "disk"}, "\"--akc\" is not expected: did you mean --ack?"},
      {{"get", "k", "--stron"}, "did you mean --strong?"},
      {{"--nod", "a:1", "get", "k"}, "did you mean --node?"},
      {{"add"}, "KEY is required"},
      {{"add", ""}, "a key has 1 to 512 bytes"},
      {{"add", longest + "k"}, "the key has 513 bytes"},
      {{"add", "k", "1.5"}, "write a whole number"},
      {{"add", "k", "one"}, "write a whole number"},
      {{"add", "k", "9223372036854775808"}, "write a whole number"},
      {{"add", "k", "-9223372036854775809"}, "write a whole number"},
      {{"add", "k", "1", "2"}, "\"2\" is not expected"},
      {{"add", "k", "--ack", "paper"}, "choose one of disk, memory, quorum"},
      {{"add", "k", "--frob"}, "\"--frob\" is not expected"},
      {{"get"}, "KEY is required"},
      {{"get", "k", "--fresh", "--strong"}, "give only one of --strong, --fresh and --local"},
      {{"get", "k", "--local", "--strong"}, "give only one of --strong, --fresh and --local"},
      {{"get", "k", "-x"}, "\"-x\" is not expected"},
      {{"get", "-x"}, "\"-x\" is not expected"},
      {{"shards", "k"}, "N is missing"},
      {{"shards", "k", "0"}, "1 to 1024"},
      {{"shards", "k", "1025"}, "1 to 1024"},
      {{"shards", "k", "-1"}, "1 to 1024"},
      {{"get", "k", "--timeout", "0s"}, "write a duration"},
      {{"get", "k", "--timeout", "5 parsecs"}, "write a duration above 0 and up to 1d, such as"},
      {{"get", "k", "-o", "xml"}, "choose one of json, table"},
      {{"get", "k", "--node", "nowhere"}, "write host:port"},
      {{"add", "k", ""}, "N is \"\": write a whole number"},
      {{"shards", "k", ""}, "N is \"\": write how many"},
      {{"get", "k", "--timeout", ""}, "--timeout \"\": write a duration"},
      {{"get", "k", "--timeout="}, "--timeout"},
      {{"get", "k", "--node", ""}, "--node: address \"\" has no port: write host:port"},
      {{"get", "k", "--node", "127.0.0.1:1", "--node", ""}, "--node: address \"\""},
      {{"get", "k", "--node", "127.0.0.1:1,"}, "--node: address \"\""},
      {{"get", "k", "-o", ""}, "choose one of json, table"},
      {{"add", "k", "--ack", ""}, "choose one of disk, memory, quorum"},
      {{"add", "k", "--affinity", ""}, "--affinity \"\": write a name"},
      {{"get", "k", "--affinity", "x"}, "is not expected"},
      {{"ingest", ""}, "No such file"},
      {{"get", "k", "--node"}, "--node needs a value (see quipu get --help)"},
      {{"add", "k", "--ack", "disk", "--ack", "disk"}, "--ack is given more than once"},
      {{"bench", "--hot=x"}, "--hot takes no value"},
      {{"bench", "--hot", "--keys", "5"}, "give only one of --keys and --hot"},
      {{"bench", "--adds", "--reads"}, "give only one of --adds and --reads"},
      {{"bench", "--keys", ""}, "--keys \"\": write a whole number from 1 to 1000000000000"},
      {{"bench", "--keys", "0"}, "--keys \"0\": write a whole number"},
      {{"bench", "--keys", "99999999999999999999"}, "write a whole number from 1 to"},
      {{"bench", "--seconds", ""}, "--seconds \"\": write a whole number from 1 to 3600"},
      {{"bench", "--seconds", "1.5"}, "write a whole number from 1 to 3600"},
      {{"bench", "--seconds", "3601"}, "write a whole number from 1 to 3600"},
      {{"bench", "--connections", "0"}, "write a whole number from 1 to 10000"},
      {{"bench", "--connections", "10001"}, "write a whole number from 1 to 10000"},
      {{"ingest", "--rate", "0"}, "--rate \"0\": write a whole number from 1 to 1000000000"},
      {{"ingest", "--rate", "-1"}, "--rate \"-1\": write a whole number from 1 to"},
      {{"ingest", "--rate", "1e9"}, "--rate \"1e9\": write a whole number from 1 to"},
      {{"ingest", "--report", ""}, "--report \"\": write the name of a file"},
      {{"ingest", "--resume", ""}, "--resume \"\": write the name of a file"},
      {{"ingest", "/no/such/file"}, "/no/such/file: No such file"},
      {{"ingest", "/tmp"}, "/tmp: Is a directory"},
      {{"bench", "--pipeline", "1025"}, "write a whole number from 1 to 1024"},
  };
  for (const auto& c : cases) {
    const CliResult result = quipu(c.arguments);
    SCOPED_TRACE(testing::PrintToString(c.arguments) + " said " + result.err);
    EXPECT_EQ(result.exit, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("quipu: "));
    EXPECT_THAT(result.err, HasSubstr(c.says));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  }
  EXPECT_EQ(quipu({"add", longest}).exit, 0);
  EXPECT_EQ(value("k"), 0);
}

TEST_F(CliUsage, AMistypedVariableIsNamedWithWhatItMayMean) {
  const CliResult got =
      run_cli({"get", "k"}, {.nodes = {node_->client_address()}, .variables = {"QUIPU_NODE=n:1"}});
  EXPECT_EQ(got.exit, 0);
  EXPECT_EQ(got.err, "quipu: QUIPU_NODE is set, but means nothing: did you mean QUIPU_NODES?\n");
}

TEST_F(CliUsage, HelpGoesToStdout) {
  for (const auto& command : std::vector<std::vector<std::string>>{{"add"},
                                                                   {"get"},
                                                                   {"ls"},
                                                                   {"ingest"},
                                                                   {"bench"},
                                                                   {"distinct", "add"},
                                                                   {"distinct", "count"},
                                                                   {"namespace", "set"},
                                                                   {"cluster", "status"}}) {
    std::vector<std::string> arguments = command;
    arguments.emplace_back("--help");
    const CliResult help = quipu(arguments);
    EXPECT_EQ(help.exit, 0);
    EXPECT_THAT(help.out, HasSubstr("Usage: quipu " + command[0]));
    for (const char* const common : {"--node", "--timeout", "-o,--output", "Exit codes: 0"})
      EXPECT_THAT(help.out, HasSubstr(common)) << command[0];
  }
}

TEST_F(CliUsage, HelpAndVersionAreCommandsToo) {
  EXPECT_EQ(quipu({"help"}).out, quipu({"--help"}).out);
  EXPECT_EQ(quipu({"help", "add"}).out, quipu({"add", "--help"}).out);
  EXPECT_EQ(quipu({"help", "cluster", "status"}).out, quipu({"cluster", "status", "--help"}).out);
  EXPECT_EQ(quipu({"help", "namespace", "set"}).out, quipu({"namespace", "set", "--help"}).out);
  EXPECT_EQ(quipu({"version"}).out, quipu({"--version"}).out);
  EXPECT_EQ(quipu({"help"}).exit, 0);
}

TEST_F(CliUsage, HelpIsInPlainWords) {
  for (const auto& command : std::vector<std::vector<std::string>>{{},
                                                                   {"add"},
                                                                   {"get"},
                                                                   {"distinct"},
                                                                   {"distinct", "add"},
                                                                   {"distinct", "count"},
                                                                   {"reset"},
                                                                   {"shards"},
                                                                   {"ls"},
                                                                   {"ingest"},
                                                                   {"bench"},
                                                                   {"namespace"},
                                                                   {"namespace", "create"},
                                                                   {"namespace", "set"},
                                                                   {"namespace", "drop"},
                                                                   {"namespace", "show"},
                                                                   {"namespace", "ls"},
                                                                   {"cluster"},
                                                                   {"cluster", "status"},
                                                                   {"config"},
                                                                   {"config", "show"}}) {
    std::vector<std::string> arguments = command;
    arguments.emplace_back("--help");
    const std::string help = quipu(arguments).out;
    for (const char* const jargon :
         {"TEXT", "REQUIRED", "Excludes", "Needs", "UINT", "POSITIVE", "INT in",
          "Env:", "Positionals", "SUBCOMMAND", "Subcommand", "[OPTIONS]", "Print this help"})
      EXPECT_THAT(help, testing::Not(HasSubstr(jargon))) << testing::PrintToString(command);
    for (std::istringstream lines(help); lines;) {
      std::string line;
      std::getline(lines, line);
      EXPECT_LE(line.size(), 110u) << line;
    }
  }
}

TEST_F(CliUsage, TellsItsVersion) {
  const CliResult version = quipu({"--version"});
  EXPECT_EQ(version.exit, 0);
  EXPECT_THAT(version.out, testing::MatchesRegex("quipu [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

}  // namespace
}  // namespace quipu::test
