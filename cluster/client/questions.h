// questions.h: requests that may be executed any number of times: reads, queries, lists, raises,
// questions for the config, and requests about namespaces.
//
//   asked ──answer──▶ finished        every new link: asked again, in that link's version
//
// Each goes to the connected node, and again if it is refused for now. It ends at its deadline
// at the latest: with the last refusal, or with `unavailable` if there was none. A raise, or a
// change of a namespace, that may have been executed ends with `in_doubt`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cluster/client/effects.h"
#include "cluster/client/links.h"
#include "cluster/client/settings.h"
#include "protocol/instant.h"

namespace quipu {

class ClientQuestions {
 public:
  // All must outlive it.
  ClientQuestions(const ClientSettings& settings, const ClientLinks& links, RequestIds& ids)
      : settings_(settings), links_(links), ids_(ids) {}

  enum class Kind : std::uint8_t {
    raise,
    read,
    query,
    range,
    list,
    config,
    namespaces,
    namespace_change
  };
  struct Question {
    Kind kind{};
    CallId call{};
    std::size_t values = 0;  // for a read: how many keys it has
    Instant deadline{};
    std::string frame{};  // of the request, with next_id(), in the lowest version
  };
  [[nodiscard]] std::uint64_t next_id() { return ids_.take(); }
  void ask(std::uint64_t id, Question question, ClientEffects& effects);

  // If they answer nothing that is open here, nothing happens.
  void on_done(Instant now, const Done& done, ClientEffects& effects);
  void on_values(Instant now, Values values, ClientEffects& effects);
  void on_query(Instant now, QueryReply reply, ClientEffects& effects);
  void on_keys(Instant now, Keys keys, ClientEffects& effects);
  void on_range(Instant now, RangeReply reply, ClientEffects& effects);
  void on_config(const ConfigReply& reply, ClientEffects& effects);
  void on_namespaces(Instant now, NamespaceReply reply, ClientEffects& effects);

  void on_lost_link() { link_.reset(); }
  void on_link(ConnectionId link, ClientEffects& effects);
  void on_tick(Instant now, ClientEffects& effects);
  [[nodiscard]] Instant deadline() const { return next_look_; }
  // The nodes refuse the credentials. All but changes in doubt end with this.
  void on_rejected(const Status& why, ClientEffects& effects);
  void stop(ClientEffects& effects);

  [[nodiscard]] bool waiting() const { return link_ && !asks_.empty(); }
  [[nodiscard]] std::size_t size() const { return asks_.size(); }

 private:
  struct Ask {
    Question question;
    bool open = false;       // sent, and not answered
    bool doubt = false;      // an earlier sending may have been executed, or still be
    Instant again = kNever;  // set: it was refused for now
    std::optional<ClientAnswer> refused{};  // the last refusal
  };
  using Entry = std::map<std::uint64_t, Ask>::iterator;

  // end() unless a question of this kind has the id.
  [[nodiscard]] Entry find(std::uint64_t id, Kind kind);
  void send(Entry entry, ClientEffects& effects);
  void refuse(Instant now, Ask& ask, ClientAnswer answer);
  void finish(Entry entry, ClientAnswer answer, ClientEffects& effects);
  [[nodiscard]] static bool may_have_changed(const Ask& ask);
  void give_up(Entry entry, const std::string& why, ClientEffects& effects);

  const ClientSettings& settings_;
  const ClientLinks& links_;
  RequestIds& ids_;
  std::optional<ConnectionId> link_;
  Instant next_look_ = kNever;         // at or before the first deadline or `again`
  std::map<std::uint64_t, Ask> asks_;  // by id, which is the order of asking
};

}  // namespace quipu
