// node.h: a member of a Quipu cluster inside your program.
//
//   auto node = quipu::Node::open({.name = "app1", .data_directory = "/var/lib/app/quipu"});
//   if (!node.ok()) { … node.status().message() … }
//   (*node)->counter("likes:42").add(1);
//
// A Node owns, for each of its reactors, a thread and a storage thread. It installs no
// signal handler and no global logger. Opening recovers the store first: a second or so
// per few million counters.
//
// It accepts as many connections as the limit of open files (RLIMIT_NOFILE, when it
// is opened) leaves after some 550 for each reactor, and at most 10,000 clients. Raise the
// soft limit before: 1,024 is too few for two reactors.
//
// Threads: all functions of a Node may be called from any thread, by several at once. The
// destructor is the exception: no other thread may still be in a call of this Node. (Its
// Counters may still be used, then and later.) Callbacks run on the node's own threads; counter.h
// says what they may do.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "quipu/counters.h"
#include "quipu/node_options.h"

namespace quipu {

// Its counters, and what else can be asked of the cluster, are in counters.h.
class QUIPU_EXPORT Node : public Counters {
 public:
  // cannot_start: an address in use, a directory that is locked, missing rights or
  // another cluster's or node's. invalid_argument: options that contradict each
  // other. corrupt: see NodeOptions::rebuild. storage_full: no room to create a store, or
  // to rebuild one. Nothing is left behind.
  // A store on a full disk opens: local reads are served, changes are refused with
  // storage_full, and the node is ready once there is room.
  static Result<std::unique_ptr<Node>> open(NodeOptions options);
  // Closes as close() does. In one of its own callbacks it does so on a thread of its
  // own, and returns at once; `log` is called, and the directory locked, until that ends.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Waits until the node serves: it is founded, and settled with its peers. False: it does not
  // yet at the end of the timeout. In a callback this does not wait.
  [[nodiscard]] bool wait_ready(std::chrono::milliseconds timeout);
  // The address that the client port got (port 0 in the options: a free one).
  [[nodiscard]] std::string client_address() const;
  [[nodiscard]] std::string peer_address() const;

  // Finishes what clients wait for (5 s), flushes to peers (1 s), makes all durable
  // and joins the threads. Calls made later answer `unavailable`. A second close() waits for
  // the first. A node that had failed answers with the reason; would_deadlock in a callback.
  Status close();
  // Blocks until the node has failed (storage_failed) or was closed (ok). would_deadlock in a
  // callback.
  Status wait();

 private:
  class QUIPU_HIDDEN Impl;
  QUIPU_HIDDEN explicit Node(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace quipu
