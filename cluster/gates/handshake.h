// greeting.h: which links may carry data.
//
//   open ──our Hello──▶ greeted? ──their Hello accepted, pins durable──▶ welcomed
//   up = we welcomed them, they welcomed us, and both are founded
//
// Each side says Hello when a link opens, again with `welcome` once it has
// accepted the other, again whenever its pins change, and each interval until the
// link is up. A link belongs to one boot of one peer: its frames can never be
// mistaken for those of another.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/gates/effects.h"
#include "cluster/membership/pins.h"
#include "cluster/membership/view.h"
#include "protocol/instant.h"
#include "storage/lineage.h"

namespace quipu {

class Greeting {
 public:
  // All must outlive it.
  Greeting(View& view, Executor& executor);

  // A store that has met nobody begins a founding; alone, it is founded at once.
  void start();
  // `dialed`: whom we called; whoever calls us says who it is.
  void on_open(Instant now, LinkId link, std::optional<MemberIndex> dialed, Effects& effects);
  void on_closed(LinkId link);
  // Any frame came.
  void on_heard(Instant now, LinkId link);
  // Keeps up links that wait, and closes what was silent for too long.
  void on_tick(Instant now, Duration timeout, Effects& effects);

  struct Met {
    std::optional<MemberIndex> up;  // this member's link has just come up
    bool pins_changed = false;
    bool rolled_back = false;  // the peer knows more of this store than it does
    std::optional<MemberIndex>
        confirmed;  // the peer testifies that nothing is lost, and welcomes us
  };
  [[nodiscard]] Met on_hello(Instant now, LinkId link, const Hello& hello, Effects& effects);
  // Ends all links that carry data.
  void part(const std::string& why, Effects& effects);
  void on_refusal(LinkId link, const Refusal& refusal, Effects& effects);

  // After pins became durable: welcomes whom we accepted, and tells all the news.
  [[nodiscard]] std::vector<Met> on_durable(Commit commit, Effects& effects);

  // Whose frames these are; nothing while the link is not up.
  [[nodiscard]] std::optional<MemberIndex> member(LinkId link) const;
  // Who is at the other end, as far as it has said; it may be refused.
  [[nodiscard]] std::optional<MemberIndex> peer(LinkId link) const;
  [[nodiscard]] const std::vector<std::optional<LinkId>>& links() const { return up_; }
  // The last attempt failed.
  [[nodiscard]] bool refused(MemberIndex member) const { return !refused_[member].empty(); }
  // "up", "connecting", or why the last attempt failed.
  [[nodiscard]] std::string state(MemberIndex member) const;
  // A message with states came. They may wait here, or be counted by a round, and be passed on
  // later, before any of it is in a record: the next Hello says that they were seen.
  void on_states(std::span<const Sighting> sightings) { merge_sightings(heard_, sightings); }
  // Whom the founding waits for. REQUIRES: not founded
  [[nodiscard]] std::string founding_state() const;
  // Its link is up, and the pins that it last said are those that the view goes by: from a
  // store that was replaced, it takes nothing any more.
  [[nodiscard]] bool agrees(MemberIndex member) const;

 private:
  struct Link {
    std::optional<MemberIndex> member;
    bool accepted = false;  // their Hello was fine
    bool welcome_sent = false;
    bool welcomed = false;      // they said the same of ours
    bool founded = false;       // they know where keys belong …
    bool founded_said = false;  // … and know that we do
    Instant heard{};
    StoreId store{};
    BootId boot{};
    Fence fence{};  // of the pins that they said last
  };

  [[nodiscard]] ClaimedStore self() const;
  void say_hello(LinkId link, Link& to, Effects& effects) const;
  void refuse(LinkId link, Code code, std::string why, Effects& effects);
  std::string objection(const Hello& hello) const;
  std::string meet_store(MemberIndex member, const Hello& hello, Met& met);
  void accept(LinkId id, Link& link, const Hello& hello, Met& met, Effects& effects);
  void agree(MemberIndex member, const Hello& hello, Met& met);
  void conclude_founding();
  void end(Link& link, LinkId id, const std::string& why, Effects& effects);
  void leave_replaced(Effects& effects);
  // Of those accepted: an older one the peer has given up, and hears no more.
  [[nodiscard]] std::optional<LinkId> newest(MemberIndex member) const;
  void keep_newest(MemberIndex member, Effects& effects);
  void raise(LinkId id, Link& link, Met& met);

  View& view_;
  Executor& executor_;
  std::map<LinkId, Link> open_;
  std::vector<std::optional<LinkId>> up_;    // by member
  std::vector<std::string> refused_;         // by member: why, or empty
  std::vector<std::vector<Pin>> foundings_;  // by member: the last list it said
  std::vector<Sighting> heard_;              // may be ahead of meta's; lost with what it is about
  std::optional<Commit> news_;               // somebody is to be told once this is durable
};

}  // namespace quipu
