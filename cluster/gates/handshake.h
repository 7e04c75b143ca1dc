// handshake.h: decides which links may carry data.
//
//   open ──our Hello──▶ greeted? ──their Hello accepted, pins durable──▶ welcomed
//   up = we welcomed them, they welcomed us, and both are founded
//
// Each side sends Hello when a link opens, again with `welcome` once it has accepted the
// other side, again whenever its pins change, and each interval until the link is up. A link
// belongs to one boot of one peer: its frames can never be mistaken for those of another.
//
// Both sides' Hellos say which versions of frames they speak. All other frames of the link are of
// the highest common version. Without one, the link is refused.
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
#include "protocol/release.h"
#include "storage/lineage.h"

namespace quipu {

class Handshake {
 public:
  // All must outlive it.
  Handshake(View& view, Executor& executor, const Speaker& speaker);

  // A store that has met no other begins a founding. A single node is founded at once.
  void start();
  // `dialed`: the member that we called. A caller sends its name.
  void on_open(Instant now, LinkId link, std::optional<MemberIndex> dialed, Effects& effects);
  void on_closed(LinkId link);
  // Any frame came.
  void on_heard(Instant now, LinkId link);
  // Keeps waiting links alive, and closes links that were silent for too long.
  void on_tick(Instant now, Duration timeout, Effects& effects);

  struct Progress {
    std::optional<MemberIndex> up;  // this member's link has just come up
    bool pins_changed = false;
    bool rolled_back = false;  // the peer knows more of this store than it does
    // The peer's version vector shows no loss, and it welcomes us.
    std::optional<MemberIndex> confirmed;
    // Their links are not up any more, since the peer says that their stores were replaced.
    std::vector<MemberIndex> ended;
  };
  [[nodiscard]] Progress on_hello(Instant now, LinkId id, const Hello& hello, Effects& effects);
  // Ends all links that carry data.
  void part(const std::string& why, Effects& effects);
  void on_refusal(LinkId link, const Refusal& refusal, Effects& effects);

  // After pins became durable: welcomes the peers that we accepted, and sends the news to all.
  [[nodiscard]] std::vector<Progress> on_durable(Commit commit, Effects& effects);

  // The sender of frames on this link. Nothing while the link is not up.
  [[nodiscard]] std::optional<MemberIndex> member(LinkId link) const;
  // The node at the other end, as it says itself. It may still be refused.
  [[nodiscard]] std::optional<MemberIndex> peer(LinkId link) const;
  [[nodiscard]] const std::vector<std::optional<LinkId>>& links() const { return up_; }
  // By member: of all frames but greetings on its link, if that is up.
  [[nodiscard]] const std::vector<FrameVersion>& versions() const { return versions_; }
  // The last attempt failed.
  [[nodiscard]] bool refused(MemberIndex member) const { return !refused_[member].empty(); }
  // "up", "connecting", or why the last attempt failed.
  [[nodiscard]] std::string state(MemberIndex member) const;
  // A message with states came. They may wait here, or a round may count them and pass them on
  // later, before a record has any of them. The next Hello's version vector includes them.
  void on_states(std::span<const VersionEntry> versions) { merge_versions(heard_, versions); }
  // The members that the founding waits for. REQUIRES: not founded
  [[nodiscard]] std::string founding_state() const;
  // Its link is up, and its last pins equal those of the view. It accepts nothing more from a
  // store that was replaced.
  [[nodiscard]] bool agrees(MemberIndex member) const;

 private:
  struct Link {
    std::optional<MemberIndex> member;
    bool accepted = false;  // their Hello was fine
    bool welcome_sent = false;
    bool welcomed = false;      // they said the same of ours
    bool founded = false;       // they know the placement of keys …
    bool founded_said = false;  // … and know that we do
    Instant heard{};
    FrameVersion version{};  // once accepted
    StoreId store{};
    BootId boot{};
    Fence fence{};  // of the last pins that they sent
  };

  [[nodiscard]] ClaimedStore self() const;
  void say_hello(LinkId link, Link& to, Effects& effects) const;
  void refuse(LinkId link, Code code, std::string why, Effects& effects);
  std::string objection(const Hello& hello) const;
  std::string meet_store(MemberIndex member, const Hello& hello, Progress& progress);
  void accept(LinkId id, Link& link, const Hello& hello, Progress& progress, Effects& effects);
  void agree(MemberIndex member, const Hello& hello, Progress& progress);
  void conclude_founding();
  void end(Link& link, LinkId id, const std::string& why, Effects& effects);
  [[nodiscard]] std::vector<MemberIndex> leave_replaced(Effects& effects);
  // An accepted link. If there is a newer one, the peer has given up this one, and ignores it.
  [[nodiscard]] std::optional<LinkId> newest(MemberIndex member) const;
  void keep_newest(MemberIndex member, Effects& effects);
  void raise(LinkId id, Link& link, Progress& progress);

  View& view_;
  Executor& executor_;
  const Speaker& speaker_;
  std::map<LinkId, Link> open_;
  std::vector<std::optional<LinkId>> up_;  // by member
  std::vector<FrameVersion> versions_;
  std::vector<std::string> refused_;         // by member: why, or empty
  std::vector<std::vector<Pin>> foundings_;  // by member: the last list it said
  std::vector<VersionEntry> heard_;          // may be ahead of meta's; lost with its states
  std::optional<Commit> news_;               // a peer gets a new Hello once this is durable
};

}  // namespace quipu
