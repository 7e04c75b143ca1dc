// client_journal.h: where a client keeps what cluster/client/journal.h says, so that its
// adds count once although the process may be killed.
//
// Invariant of the caller: what was noted is durable, by a sync() that answered true,
// before anything is sent. The client's thread.
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
  // False, from then on for ever: it is not durable. Nothing may be sent any more.
  [[nodiscard]] virtual bool sync() = 0;
};

}  // namespace quipu
