// client_journal.h: the storage for the entries of cluster/client/journal.h, so that a client's
// adds count once even if the process is killed.
//
// Rule for the caller: before it sends anything, a sync() that returned true has made the
// noted entries durable. The client's thread.
#pragma once

#include "cluster/client/journal.h"

namespace quipu {

class ClientJournal {
 public:
  ClientJournal() = default;
  virtual ~ClientJournal() = default;
  ClientJournal(const ClientJournal&) = delete;
  ClientJournal& operator=(const ClientJournal&) = delete;

  virtual void note(const ClientJournalEntry& entry) = 0;
  // False, then and ever after: it is not durable. Nothing more may be sent.
  [[nodiscard]] virtual bool sync() = 0;
};

}  // namespace quipu
