// node.h: a member of a Quipu cluster inside your program.
//
//   auto node = quipu::Node::open({.name = "app1", .data_directory = "/var/lib/app/quipu"});
//   if (!node.ok()) { … node.status().message() … }
//   (*node)->counter("likes:42").add(1);
//
// A Node owns two threads for each of its reactors: the reactor's and a storage thread. It
// installs no signal handler and no global logger. Opening recovers the store first, which takes
// about a second for a few million counters.
//
// The limit of open files (RLIMIT_NOFILE) at the time of opening bounds the connections: each
// reactor keeps some 550 files for itself, and clients and peers share the rest. At most 10,000
// clients connect by default. Raise the soft limit before: 1,024 is too few for two reactors.
//
// Threads: all functions of a Node may be called from any thread, by several at once. The
// destructor is the exception: no other thread may still be in a call of this Node. (Its
// Counters may still be used, then and later.) Callbacks run on the node's own threads; counter.h
// says what they may do.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "quipu/counters.h"
#include "quipu/figures.h"
#include "quipu/node_options.h"

namespace quipu {

// How a node is, for probes and supervisors.
struct NodeHealth {
  // The cluster is founded, and this node serves and has its share of the counters.
  bool ready = false;
  std::string waits_for{};  // if it is not ready
  // The age of the last turn of the reactor that has had none for longest. Reactors have one at
  // least every second. After more than 10 s one is stuck, as in a callback of yours.
  std::chrono::milliseconds since_turn{};
};

// counters.h has the calls that a Node shares with a Client. Every call is thread-safe, except the
// destructor: see the top of this file.
class QUIPU_EXPORT Node : public Counters {
 public:
  // The caller owns the Node. Errors:
  //   cannot_start      an address in use; a directory that is locked, lacks rights, or belongs
  //                     to another cluster or node
  //   invalid_argument  options that contradict each other
  //   corrupt           a damaged store: see NodeOptions::rebuild
  //   storage_full      no room to create or rebuild a store; nothing is left behind
  // An existing store on a full disk opens: the node serves local reads, refuses changes with
  // storage_full, and is ready once there is room.
  static Result<std::unique_ptr<Node>> open(NodeOptions options);
  // Closes as close() does. In one of the node's own callbacks it returns at once and closes on
  // another thread. Until that ends, `log` may be called and the directory is locked.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Blocks until the node serves: the cluster is founded, the node is settled with its peers,
  // and its clock was compared with theirs, for which it waits 1 s at most.
  // False: it did not serve yet at the end of the timeout. In a callback this does not block.
  [[nodiscard]] bool wait_ready(std::chrono::milliseconds timeout);
  // Up to a second old. Does not wait for the node, even if it is stuck.
  [[nodiscard]] NodeHealth health() const;
  // What this node counts and measures: figures.h. Up to about a second old. Does not wait for the
  // node, even if it is stuck. Any thread.
  [[nodiscard]] std::vector<FigureFamily> figures() const;
  // This node as a member, for each of its reactors: what status() says of them, but without a
  // question to anybody. Empty while no reactor has its store. Up to about a second old. Does not
  // wait for the node, even if it is stuck. Any thread.
  [[nodiscard]] std::vector<MemberStatus> own_status() const;
  // The host:port that each port listens on. (Port 0 in the options takes a free one.)
  [[nodiscard]] std::string client_address() const;
  [[nodiscard]] std::string peer_address() const;

  // Uses these limits of the client port from now on: connections, idle, soft_output,
  // soft_output_time and hard_output. The other options of the port stay as they were at open().
  // Connections over a lower limit stay. Error: invalid_argument, and nothing is changed.
  Status set_client_limits(const ClientPortOptions& limits);

  // Reads the users file and the files of TLS again. Connections whose user or secret is gone are
  // ended. New connections get the new certificate. Error: invalid_argument, if a file is wrong, or
  // unavailable, if the certificate and the key do not match: then those that belong
  // together stay as they were. Without such files this does nothing. Any thread.
  Status reload();
  // Whether this user of the users file has this secret, and may observe the node: for a program
  // that shows figures() to others. unauthenticated, or not_permitted, if not. Without a users file
  // it is always ok. Any thread.
  [[nodiscard]] Status may_observe(std::string_view user, std::string_view secret) const;

  // Accepts no new request, and answers later calls with `unavailable`. Then it finishes what
  // clients wait for (at most 5 s), and waits until the peers that are up have all changes; for
  // both together at most `patience`. It makes everything durable and joins the threads. A second
  // close() waits for the first. Errors: the reason, if the node had failed; would_deadlock in a
  // callback.
  Status close(std::chrono::milliseconds patience = kCloseNode);
  // Blocks until the node has failed (storage_failed) or was closed (ok). Error: would_deadlock in
  // a callback.
  Status wait();

 private:
  class QUIPU_HIDDEN Impl;
  QUIPU_HIDDEN explicit Node(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace quipu
