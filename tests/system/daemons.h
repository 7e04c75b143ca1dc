// daemons.h: real quipud processes on loopback, for tests that kill them.
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/node/temporary_directory.h"
#include "tests/system/process.h"

namespace quipu::test {

// What the settings of a cluster say besides names and directories.
struct DaemonSettings {
  std::vector<std::string> clusters{};  // for each node, lines of [cluster]; empty: none
  std::vector<std::string> nodes{};     // lines of [node]
  std::vector<std::string> others{};    // what follows
  // What members and clients dial; empty: free ports of 127.0.0.1.
  std::vector<std::string> clients{};
  std::vector<std::string> peers{};
};

// A cluster of daemons n1 … nN on free ports, with data in a directory of its own.
class Daemons {
 public:
  Daemons(std::size_t count, const DaemonSettings& settings);
  // `others`: of each node, behind the lines of [node].
  explicit Daemons(std::size_t count, const std::string& others = {});
  ~Daemons();
  Daemons(const Daemons&) = delete;
  Daemons& operator=(const Daemons&) = delete;

  void start(std::size_t node, const std::vector<std::string>& flags = {});
  // The program of the next release (tests/next_release).
  void start_next_release(std::size_t node);
  // Sends the signal, and waits for the end. Returns the exit code as in Finished.
  int end(std::size_t node, int signal);
  void signal(std::size_t node, int number) const;
  // Stops the process, and waits until it stands still: from then on it answers nothing.
  void pause(std::size_t node) const;
  void start_all();
  // Until every running node says that it is ready.
  [[nodiscard]] bool all_ready();

  [[nodiscard]] const std::string& client_address(std::size_t node) const { return clients_[node]; }
  [[nodiscard]] pid_t pid(std::size_t node) const { return pids_[node]; }
  [[nodiscard]] std::string data_directory(std::size_t node) const;
  [[nodiscard]] std::string settings(std::size_t node) const;
  // All that the node has logged.
  [[nodiscard]] std::string log(std::size_t node) const;
  // The node's own state: "ready", or what it waits for. Empty: it cannot be asked.
  [[nodiscard]] std::string state(std::size_t node) const;
  // A figure of the node's status, such as "repair_shards".
  [[nodiscard]] std::uint64_t stat(std::size_t node, const std::string& name) const;

 private:
  void start(const char* program, std::size_t node, const std::vector<std::string>& flags);
  [[nodiscard]] nlohmann::json own_status(std::size_t node) const;

  TemporaryDirectory directory_;
  std::vector<std::string> clients_;
  std::vector<pid_t> pids_;
};

}  // namespace quipu::test
