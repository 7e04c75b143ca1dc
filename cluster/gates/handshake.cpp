#include "cluster/gates/handshake.h"

#include "protocol/check.h"
#include "protocol/message_codec.h"
#include "storage/recovery.h"

namespace quipu {

Handshake::Handshake(View& view, Executor& executor, const Speaker& speaker)
    : view_(view),
      executor_(executor),
      speaker_(speaker),
      up_(view.size()),
      versions_(view.size()),
      refused_(view.size()),
      foundings_(view.size()) {}

ClaimedStore Handshake::self() const {
  const Meta& meta = executor_.meta();
  return {meta.node, meta.store, meta.marked};
}

void Handshake::start() {
  if (!executor_.meta().pins.founding.empty()) return;
  executor_.edit_meta().pins = blank_pins(view_.config(), self());
  if (view_.size() == 1) conclude_founding();
}

void Handshake::conclude_founding() {
  QUIPU_CHECK(!executor_.meta().pins.founded, "a cluster is founded once");
  found(executor_.edit_meta().pins);
  executor_.found(placement_key(executor_.meta().pins));
}

void Handshake::on_open(Instant now, LinkId link, std::optional<MemberIndex> dialed,
                        Effects& effects) {
  QUIPU_CHECK(!open_.contains(link), "a link opens once", link);
  QUIPU_CHECK(!dialed || (*dialed < view_.size() && *dialed != view_.self()),
              "another member is dialed", link, dialed.value_or(view_.self()));
  Link& opened = open_[link];
  opened.member = dialed;
  opened.heard = now;
  say_hello(link, opened, effects);
}

void Handshake::on_closed(LinkId link) {
  const auto at = open_.find(link);
  if (at == open_.end()) return;
  if (at->second.member && up_[*at->second.member] == link) {
    QUIPU_CHECK(view_.up(*at->second.member), "a member is up while its link is",
                *at->second.member, link);
    up_[*at->second.member].reset();
    view_.set_up(*at->second.member, false);
  }
  open_.erase(at);
}

void Handshake::on_heard(Instant now, LinkId link) {
  if (const auto at = open_.find(link); at != open_.end()) at->second.heard = now;
}

// Links with data have heartbeats. The others would be silent while they wait.
void Handshake::on_tick(Instant now, Duration timeout, Effects& effects) {
  for (auto& [id, link] : open_) {
    if (now - link.heard >= timeout) {
      effects.closes.push_back({id, "silent"});
    } else if (!member(id) && !news_) {
      say_hello(id, link, effects);
    }
  }
}

void Handshake::say_hello(LinkId link, Link& to, Effects& effects) const {
  const Meta& meta = executor_.meta();
  QUIPU_CHECK(!meta.lineage.empty(), "a store has started before it greets", meta.store);
  to.founded_said = meta.pins.founded;
  Hello hello;
  hello.cluster = meta.cluster;
  hello.node = meta.node;
  hello.store = meta.store;
  hello.boot = meta.lineage.back().boot;
  hello.marked = meta.marked;
  hello.welcome = to.welcome_sent;
  hello.pins = meta.pins;
  hello.by = speaker_;
  hello.versions = meta.versions;
  merge_versions(hello.versions, heard_);
  std::string frame;
  encode_peer(frame, hello, meta.cluster);
  effects.sends.push_back({link, std::move(frame)});
}

void Handshake::refuse(LinkId link, Code code, std::string why, Effects& effects) {
  if (const auto at = open_.find(link); at != open_.end() && at->second.member)
    refused_[*at->second.member] = why;
  std::string frame;
  encode_peer(frame, Refusal{code, why, speaker_}, executor_.meta().cluster);
  effects.sends.push_back({link, std::move(frame)});
  effects.closes.push_back({link, std::move(why)});
}

std::string Handshake::objection(const Hello& hello) const {
  const Meta& meta = executor_.meta();
  if (hello.cluster != meta.cluster) {
    return "another cluster: its name, its replication or a member's name, peer address, zone or "
           "weight in the settings differs from ours";
  }
  if (hello.node == meta.node) return "two nodes run under one name: stop one, or rename it";
  if (!view_.config().find(hello.node)) return "not a member of this cluster";
  return {};
}

Handshake::Progress Handshake::on_hello(Instant now, LinkId id, const Hello& hello,
                                        Effects& effects) {
  const auto at = open_.find(id);
  if (at == open_.end()) return {};
  Link& link = at->second;
  link.heard = now;
  std::string why = objection(hello);
  const MemberIndex member = why.empty() ? *view_.config().find(hello.node) : 0;
  if (why.empty() &&
      (link.member.value_or(member) != member || (link.accepted && link.boot != hello.boot))) {
    why = "another node answers on this link than was expected: check its address";
  }
  if (!why.empty()) {
    refuse(id, Code::cannot_start, std::move(why), effects);
    return {};
  }
  link.member = member;
  const auto version = common_version(speaker_.frames, hello.by.frames);
  if (!version) {
    const std::string& name = view_.config().members[member].name;
    refuse(id, Code::cannot_start, no_common_version(name, hello.by, speaker_), effects);
    return {};
  }
  link.version = *version;
  Progress progress;
  std::string refusal = meet_store(member, hello, progress);
  if (progress.pins_changed) progress.ended = leave_replaced(effects);
  if (!refusal.empty()) {
    refuse(id, Code::cannot_start, std::move(refusal), effects);
  } else if (!progress.rolled_back) {
    accept(id, link, hello, progress, effects);
  }
  return progress;
}

// Compares the version vectors of the peer's store and ours. Returns why the peer is refused.
std::string Handshake::meet_store(MemberIndex member, const Hello& hello, Progress& progress) {
  const Meta& meta = executor_.meta();
  // First: does the peer's version vector have something of this store that the store lacks? (A
  // store that was replaced meanwhile gets that answer instead.)
  const bool replaced = retired(meta.pins, meta.store) || retired(hello.pins, meta.store);
  progress.rolled_back = !replaced && check_lineage(meta.lineage, executor_.sealed(), meta.store,
                                                    hello.versions) == LineageCheck::rolled_back;
  if (progress.rolled_back) return {};
  Pins pins = meta.pins;
  PinResult result = meet(pins, self(), hello);
  const bool adopted = !meta.pins.founded && pins.founded;
  progress.pins_changed = result.changed;
  if (result.changed) executor_.edit_meta().pins = std::move(pins);
  if (!result.refusal.empty()) return std::move(result.refusal);
  if (adopted) executor_.found(placement_key(meta.pins));
  agree(member, hello, progress);
  return {};
}

void Handshake::accept(LinkId id, Link& link, const Hello& hello, Progress& progress,
                       Effects& effects) {
  const MemberIndex member = *link.member;
  refused_[member].clear();
  QUIPU_CHECK(!link.accepted || link.boot == hello.boot, "a link belongs to one start of its peer",
              id, member);
  const bool accepted = std::exchange(link.accepted, true);
  link.store = hello.store;
  link.boot = hello.boot;
  link.fence = view_.fence_of(hello.pins);
  link.welcomed = link.welcomed || hello.welcome;
  link.founded = hello.pins.founded;
  // Until it welcomes us it may still receive messages of our last life, over an older link.
  if (link.welcomed) progress.confirmed = member;
  if (progress.pins_changed || !accepted) news_ = executor_.covering();
  // Before this node welcomes that start: from then on it accepts nothing from an earlier one.
  if (newest(member) == id) view_.set_boot(member, hello.boot);
  keep_newest(member, effects);
  raise(id, link, progress);
}

// Founded once every member, this one included, sends the same complete list.
void Handshake::agree(MemberIndex member, const Hello& hello, Progress& progress) {
  foundings_[member] = hello.pins.founding;
  const Pins& mine = executor_.meta().pins;
  if (mine.founded || !founding_known(mine)) return;
  for (MemberIndex other = 0; other < view_.size(); ++other) {
    if (other != view_.self() && !same_stores(foundings_[other], mine.founding)) return;
  }
  conclude_founding();
  progress.pins_changed = true;
}

std::string Handshake::founding_state() const {
  const Pins& mine = executor_.meta().pins;
  QUIPU_CHECK(!mine.founded, "a cluster that is founded waits for no founder");
  std::vector<std::string> unmet, waiting;
  for (MemberIndex other = 0; other < view_.size(); ++other) {
    if (other == view_.self()) continue;
    const Member& member = view_.config().members[other];
    if (founding_store(mine, member.id) == StoreId{}) unmet.push_back(member.name);
    if (!same_stores(foundings_[other], mine.founding)) waiting.push_back(member.name);
  }
  if (!unmet.empty()) return "not founded yet: waiting for " + name_list(unmet);
  return "not founded yet: waiting for " + name_list(waiting) +
         " to meet every other founding member";
}

std::optional<LinkId> Handshake::newest(MemberIndex member) const {
  std::optional<LinkId> newest;
  for (const auto& [id, link] : open_) {
    if (link.member == member && link.accepted) newest = id;
  }
  return newest;
}

// A peer that lost its side of a link dials again before we notice. Messages over the old link
// may arrive even later.
void Handshake::keep_newest(MemberIndex member, Effects& effects) {
  const std::optional<LinkId> kept = newest(member);
  for (const auto& [id, other] : open_) {
    if (other.member == member && id < kept)
      effects.closes.push_back({id, "replaced by a newer link"});
  }
}

std::vector<Handshake::Progress> Handshake::on_durable(Commit commit, Effects& effects) {
  std::vector<Progress> went_on;
  if (!news_ || *news_ > commit) return went_on;
  QUIPU_CHECK(commit <= executor_.sealed(), "only what was sealed can be durable", commit,
              executor_.sealed());
  news_.reset();
  for (auto& [id, link] : open_) {
    link.welcome_sent = link.accepted;
    say_hello(id, link, effects);
    if (link.member) raise(id, link, went_on.emplace_back());
  }
  return went_on;
}

void Handshake::raise(LinkId id, Link& link, Progress& progress) {
  const MemberIndex member = *link.member;
  const bool founded = link.founded && link.founded_said;
  if (!founded || !link.accepted || !link.welcomed || !link.welcome_sent || up_[member] == id ||
      id != newest(member))
    return;
  QUIPU_CHECK(member != view_.self(), "a node has no link to itself", member);
  QUIPU_CHECK(view_.up(member) == up_[member].has_value(), "a member is up while its link is",
              member, id);
  up_[member] = id;
  versions_[member] = link.version;
  view_.set_up(member, true);
  progress.up = member;
}

void Handshake::part(const std::string& why, Effects& effects) {
  for (const std::optional<LinkId> link : up_) {
    if (link) end(open_.at(*link), *link, why, effects);
  }
}

// Later messages over its link are ignored, though they may still arrive.
void Handshake::end(Link& link, LinkId id, const std::string& why, Effects& effects) {
  QUIPU_CHECK(link.member.has_value(), "a link that ends here was a member's", id);
  effects.closes.push_back({id, why});
  link.accepted = false;
  std::optional<LinkId>& up = up_[*link.member];
  if (up != id) return;
  up.reset();
  view_.set_up(*link.member, false);
}

std::vector<MemberIndex> Handshake::leave_replaced(Effects& effects) {
  std::vector<MemberIndex> ended;
  for (auto& [id, link] : open_) {
    if (!link.accepted || !retired(executor_.meta().pins, link.store)) continue;
    if (up_[*link.member] == id) ended.push_back(*link.member);
    end(link, id, "its store was replaced", effects);
  }
  return ended;
}

void Handshake::on_refusal(LinkId link, const Refusal& refusal, Effects& effects) {
  if (const auto at = open_.find(link); at != open_.end() && at->second.member) {
    const MemberIndex member = *at->second.member;
    refused_[member] =
        common_version(speaker_.frames, refusal.by.frames)
            ? refusal.detail
            : no_common_version(view_.config().members[member].name, refusal.by, speaker_);
  }
  effects.closes.push_back({link, "refused: " + refusal.detail});
}

std::optional<MemberIndex> Handshake::member(LinkId link) const {
  const auto at = open_.find(link);
  if (at == open_.end() || !at->second.member || up_[*at->second.member] != link)
    return std::nullopt;
  return at->second.member;
}

std::optional<MemberIndex> Handshake::peer(LinkId link) const {
  const auto at = open_.find(link);
  return at == open_.end() ? std::nullopt : at->second.member;
}

bool Handshake::agrees(MemberIndex member) const {
  return up_[member] && open_.at(*up_[member]).fence == view_.fence();
}

std::string Handshake::state(MemberIndex member) const {
  if (up_[member]) return "up";
  return refused_[member].empty() ? "connecting" : refused_[member];
}

}  // namespace quipu
