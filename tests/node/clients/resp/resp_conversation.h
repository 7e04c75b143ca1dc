// resp_conversation.h: one node or three, and a Redis client's conversation with it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {

// The parameter: how many reactors the node has.
class Resp : public testing::TestWithParam<std::uint8_t> {
 protected:
  explicit Resp(ClientPortOptions port = {}) {
    NodeOptions options = alone(directory_ / "data");
    options.reactors = GetParam();
    options.client_port = port;
    node_ = open_node(options);
    EXPECT_TRUE(node_->wait_ready(kPatience));
  }
  [[nodiscard]] RawConnection connect() const { return RawConnection(node_->client_address()); }

  TemporaryDirectory directory_;
  std::unique_ptr<Node> node_;
};

// Each line of a conversation: an inline request, and its reply. RESP's line ends are written
// as one space.
struct Said {
  std::string request;
  std::string reply;
};
inline void converse(RawConnection&& client, const std::vector<Said>& conversation) {
  for (const auto& [request, reply] : conversation) {
    std::string got = client.reply_to(request);
    for (std::size_t at = 0; (at = got.find("\r\n", at)) != got.npos;) got.replace(at, 2, " ");
    EXPECT_EQ(got, reply) << request;
  }
}

// ---- replies that many tests expect ----

inline const std::string kNotInteger = "-ERR value is not an integer or out of range ";
// The year 3000, in milliseconds.
inline const std::string kFar = "32503680000000";

inline std::string invalid_time(const std::string& command) {
  return "-ERR invalid expire time in '" + command + "' command ";
}

inline std::string wrong_number_of_words(const std::string& command) {
  return "-ERR wrong number of arguments for '" + command + "' command ";
}

// ---- questions ----

// All names that a whole SCAN tells, sorted, as "a b c ".
inline std::string names_of(RawConnection& client, const std::string& options = "") {
  std::set<std::string> names;
  std::string cursor = "0";
  do {
    std::istringstream reply(client.reply_to("SCAN " + cursor + ' ' + options));
    std::vector<std::string> lines;
    for (std::string line; std::getline(reply, line);)
      lines.push_back(line.substr(0, line.size() - 1));
    // *2, $n, cursor, *n, and a $n before each name
    if (lines.size() < 4 || lines[0] != "*2") return "no reply to SCAN";
    cursor = lines[2];
    for (std::size_t i = 5; i < lines.size(); i += 2) names.insert(lines[i]);
  } while (cursor != "0");
  std::string all;
  for (const std::string& name : names) all += name + ' ';
  return all;
}

// ---- three nodes ----

// Waits until each clock has been compared, since until then nothing is dated.
inline void wait_for_clocks(const Nodes& nodes) {
  for (const auto& node : nodes) {
    RawConnection client(node->client_address());
    EXPECT_TRUE(eventually([&] {
      for (int i = 0; i < 30; ++i)
        if (client.reply_to("SET clock" + std::to_string(i) + " 1 EX 1000") != "+OK\r\n")
          return false;
      return client.reply_to("TTL clock0").front() == ':';
    }));
  }
}

// One copy of each counter, so that most nodes must ask another.
inline Nodes three_with_one_copy(const std::string& directory, std::uint32_t weight_of_last = 1) {
  std::vector<NodeOptions> options = cluster_of(3, directory);
  for (NodeOptions& one : options) {
    one.replication = 1;
    one.members[2].weight = weight_of_last;
  }
  Nodes nodes = open_all(options);
  wait_for_clocks(nodes);
  return nodes;
}

}  // namespace quipu::test
