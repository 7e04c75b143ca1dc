// namespaces.h: clients that define, change and drop namespaces, and what must come of it.
//
//   a change ─▶ its stamp, as the node's table has it ─▶ acked: by whom it is held ─▶ still there?
//
// The kinds of counters are namespaces, too ("witness:12"), so the policies decide about the
// workload's adds and reads.
#pragma once

#include <string>
#include <vector>

#include "tests/simulator/ledger.h"
#include "tests/simulator/node.h"
#include "tests/simulator/options.h"

namespace quipu::sim {

class NamespaceClients {
 public:
  // All must outlive it.
  NamespaceClients(const Shared& shared, const std::vector<SimNode*>& nodes, const Ledger& ledger,
                   const Options& options);

  // Until stop().
  void work();
  void stop() { stopped_ = true; }
  // Requests whose node has not died since.
  [[nodiscard]] std::size_t waiting() const;

  // ---- once nothing fails any more ----
  // Nothing, or a node that holds other definitions than the first, in memory or at rest.
  [[nodiscard]] std::string who_differs() const;
  // Nothing, or an acked change that is lost although some disk had it all the time.
  [[nodiscard]] std::string what_is_lost() const;
  // Undefined namespaces are allowed again: what comes after healing uses them.
  void relax();
  [[nodiscard]] bool relaxed() const { return relaxed_; }

 private:
  struct Change {
    std::string name;
    NamespaceAction action{};
    Stamp stamp{};
    Instant begun{}, acked{};
    std::vector<MemberIndex> holders;  // when it was acked

    [[nodiscard]] bool is_in(const NamespaceDefinition& held) const;
  };

  void change();
  void ask(SimNode& node, const NamespaceRequest& request);
  void on_reply(const SimNode& node, Change change, const NamespaceReply& reply);
  [[nodiscard]] std::string describe(const Change& change) const;

  Shared shared_;
  const std::vector<SimNode*>& nodes_;
  const Ledger& ledger_;
  const Options& options_;
  Random random_;
  std::vector<Change> acked_;
  bool stopped_ = false;
  bool relaxed_ = false;
};

}  // namespace quipu::sim
