// core.h: a client of the cluster without sockets, clock or threads: events in, effects out.
// Each add counts exactly once, through any node.
//
//   links ── which node to connect to    directory ── which executor for a change
//   changes ── adds, applies, resets, …   questions ── reads, and all else that is repeatable
//   resets ── a counter's reset, of all its shards
//
// After each call: do the effects, then arm one timer at deadline().
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/client/changes.h"
#include "cluster/client/directory.h"
#include "cluster/client/effects.h"
#include "cluster/client/links.h"
#include "cluster/client/questions.h"
#include "cluster/client/resets.h"
#include "cluster/client/settings.h"
#include "protocol/instant.h"
#include "protocol/message_codec.h"
#include "protocol/random.h"

namespace quipu {

class ClientCore {
 public:
  ClientCore(ClientSettings settings, Random random);

  // ---- calls: each ends in one completion, now or later ----
  // CallId: below ClientResets::kFirstPart, and not in use.
  struct Change {
    std::string key;
    std::int64_t amount = 0;  // for an add; a raise: the number of shards; an expire: as in Op
    Ack ack = Ack::disk;
    Duration timeout{};
    Affinity affinity{};              // for an add
    std::chrono::milliseconds ttl{};  // for an add: as AddOptions::ttl
    std::int64_t at_ms = 0;           // for an add, an apply or a reset: as Op::at_ms
    // The kind of the counter. A reset of a sum resets a counter of any kind.
    Kind counter = Kind::sum;
    // For an apply: its words, or else the items to make them from.
    std::string words{};
    std::vector<Item> items{};
    // For an add or an apply, with ClientSettings::journaled. `bound`: an earlier client may have
    // sent it so. Its floor must be the lowest number of the session that is still bound.
    std::uint64_t ticket = 0;
    std::optional<ClientBinding> bound{};
  };
  void add(Instant now, CallId call, Change change, ClientEffects& effects);
  // Changes a counter that is no sum.
  void apply(Instant now, CallId call, Change change, ClientEffects& effects);
  void reset(Instant now, CallId call, const Change& change, ClientEffects& effects);
  void expire(Instant now, CallId call, Change change, ClientEffects& effects);
  void raise(Instant now, CallId call, const Change& change, ClientEffects& effects);
  struct Question {
    std::vector<std::string> keys;
    ReadLevel level = ReadLevel::local;
    Duration timeout{};
  };
  void read(Instant now, CallId call, const Question& question, ClientEffects& effects);
  // `request`: its id and timeout are set here.
  void range(Instant now, CallId call, RangeRequest request, Duration timeout,
             ClientEffects& effects);
  // `request`: its id and timeout are set here, and its words if the question is about items.
  void query(Instant now, CallId call, Query request, std::span<const std::string> items,
             Duration timeout, ClientEffects& effects);
  struct Listing {
    std::string prefix;
    std::uint32_t cursor = 0;  // as in List
    std::uint32_t limit = kMaxListKeys;
    Duration timeout{};
  };
  void list(Instant now, CallId call, const Listing& listing, ClientEffects& effects);
  // `request`: its id and timeout are set here.
  void namespaces(Instant now, CallId call, NamespaceRequest request, Duration timeout,
                  ClientEffects& effects);
  // The members, as the connected node knows them now.
  void config(Instant now, CallId call, Duration timeout, ClientEffects& effects);

  // ---- connections ----
  // An effect asked for `connection`, and it is open now.
  void on_connected(Instant now, ConnectionId connection, ClientEffects& effects);
  // It could not be opened, the other side closed it, or its bytes are not frames.
  void on_closed(Instant now, ConnectionId connection, std::string why, ClientEffects& effects);
  void on_frame(Instant now, ConnectionId connection, FrameType type, Payload payload,
                ClientEffects& effects);

  // ---- time ----
  // Also the first call of all.
  void on_tick(Instant now, ClientEffects& effects);
  [[nodiscard]] Instant deadline() const;
  // Completes all calls, as in_doubt or unavailable. The last call of all.
  void stop(Instant now, ClientEffects& effects);

  [[nodiscard]] bool connected() const { return links_.current().has_value(); }
  // Connected to a node of a founded cluster.
  [[nodiscard]] bool usable() const { return connected() && directory_.founded(); }
  // Not usable, and trying again at once would change nothing.
  [[nodiscard]] bool exhausted() const { return !usable() && links_.exhausted(); }
  // As ClientLinks::rejection().
  [[nodiscard]] std::optional<Status> rejection() const { return links_.rejection(); }
  // Why it is not usable.
  [[nodiscard]] std::string trouble() const {
    return connected() ? directory_.founding() : links_.trouble();
  }
  // How often the data connection was made or changed.
  [[nodiscard]] std::size_t connects() const { return links_.taken(); }
  [[nodiscard]] std::size_t in_flight() const { return changes_.size() + questions_.size(); }
  [[nodiscard]] const ClientStats& stats() const { return changes_.stats(); }

 private:
  [[nodiscard]] bool admit(CallId call, const std::string& key, Duration timeout,
                           ClientEffects& effects);
  [[nodiscard]] static std::string objection_to(std::string_view key);
  [[nodiscard]] bool may_ask(CallId call, Duration timeout, ClientEffects& effects);
  [[nodiscard]] bool has_room(CallId call, std::size_t more, ClientEffects& effects) const;
  [[nodiscard]] bool is_rejected(CallId call, ClientEffects& effects) const;
  void submit_new(Instant now, CallId call, Change change, OpKind kind, ClientEffects& effects);
  void submit(Instant now, ClientChange change, ClientEffects& effects);
  template <class Request>
  void ask(Instant now, ClientQuestions::Question question, const Request& request,
           ClientEffects& effects);
  void ask_shards(Instant now, CallId part, const ClientResets::Reset& reset,
                  ClientEffects& effects);
  void on_shards(Instant now, CallId part, const ClientAnswer& answer, ClientEffects& effects);
  void break_off(Instant now, ConnectionId connection, std::string why, ClientEffects& effects);
  void on_config(Instant now, ConnectionId connection, const ConfigReply& reply,
                 ClientEffects& effects);
  void on_data(Instant now, ConnectionId connection, FrameType type, Payload payload,
               ClientEffects& effects);
  void settle_resets(Instant now, ClientEffects& effects);
  void react(Instant now, ClientLinks::Event change, ClientEffects& effects);
  void after(Instant now, ClientLinks::Event change, ClientEffects& effects);

  ClientSettings settings_;
  RequestIds ids_;
  ClientLinks links_;
  ClientDirectory directory_;
  ClientChanges changes_;
  ClientQuestions questions_;
  ClientResets resets_;
};

}  // namespace quipu
