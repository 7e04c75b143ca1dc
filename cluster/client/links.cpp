#include "cluster/client/links.h"

#include <algorithm>

#include "protocol/check.h"
#include "protocol/message_codec.h"

namespace quipu {
namespace {

// More than any config has, so that a lying node cannot grow the list for ever.
constexpr std::size_t kMaxAddresses = 1024;
// How many addresses a message names.
constexpr std::size_t kMostAddressesNamed = 8;

std::string seconds(Duration duration) {
  return std::to_string(std::chrono::round<std::chrono::seconds>(duration).count()) + " s";
}

}  // namespace

ClientLinks::ClientLinks(const ClientSettings& settings)
    : settings_(settings),
      addresses_(settings.seeds),
      failures_(addresses_.size()),
      versions_(addresses_.size(), spoken_versions().from),
      backoff_(settings.backoff_first) {
  QUIPU_CHECK(!addresses_.empty(), "the settings name a seed");
  describe_trouble();
}

std::optional<ConnectionId> ClientLinks::current() const {
  if (!current_) return std::nullopt;
  return current_->connection;
}

bool ClientLinks::is_current(ConnectionId connection) const {
  return current_ && current_->connection == connection;
}

bool ClientLinks::is_candidate(ConnectionId connection) const {
  return candidate_ && candidate_->connection == connection;
}

bool ClientLinks::wants_better() const {
  return !current_ || !current_->ready || current_->address != 0;
}

void ClientLinks::on_connected(Instant now, ConnectionId connection, ClientEffects& effects) {
  if (!is_candidate(connection)) return;
  candidate_->since = now;
  candidate_->asked = true;
  const FrameVersion version = versions_[candidate_->address];
  encode_credentials(effects.frames(connection), settings_.credentials, version);
  encode(effects.frames(connection), ConfigRequest{.id = kConfigId}, version);
}

ClientLinks::Event ClientLinks::on_closed(Instant now, ConnectionId connection, std::string why) {
  return drop(now, connection, {std::move(why)});
}

ClientLinks::Event ClientLinks::on_refused(Instant now, ConnectionId connection,
                                           const Refusal& refusal, ClientEffects& effects) {
  const Link* const link = is_current(connection)     ? &*current_
                           : is_candidate(connection) ? &*candidate_
                                                      : nullptr;
  if (link == nullptr) return Event::none;
  const auto version = common_version(spoken_versions(), refusal.by.frames);
  if (!version) return give_up(now, connection, reason(refusal), effects);
  const std::size_t address = link->address;
  const bool other = versions_[address] != *version;
  versions_[address] = *version;
  const bool dials_again = other && is_candidate(connection) && redialed_ != address;
  const Event event = give_up(
      now, connection,
      Failure{.why = refusal.detail, .unauthenticated = refusal.code == Code::unauthenticated},
      effects);
  if (dials_again) {  // the same address, at once, in its version
    redialed_ = address;
    failures_[address] = {};
    next_address_ = address;
    dial_at_ = now;
  }
  return event;
}

ClientLinks::Event ClientLinks::give_up(Instant now, ConnectionId connection, std::string why,
                                        ClientEffects& effects) {
  return give_up(now, connection, Failure{std::move(why)}, effects);
}

ClientLinks::Event ClientLinks::give_up(Instant now, ConnectionId connection, Failure failure,
                                        ClientEffects& effects) {
  if (is_current(connection) || is_candidate(connection)) effects.closes.push_back(connection);
  return drop(now, connection, std::move(failure));
}

ClientLinks::Event ClientLinks::drop(Instant now, ConnectionId connection, Failure failure) {
  if (is_candidate(connection)) {
    QUIPU_CHECK(candidate_->address < failures_.size(), "the address that was dialed is known",
                candidate_->address, failures_.size());
    failures_[candidate_->address] = std::move(failure);
    candidate_failed(now);
    if (!current_) describe_trouble();
    return Event::none;
  }
  if (!is_current(connection)) return Event::none;
  failures_.assign(addresses_.size(), {});
  failures_[current_->address] = std::move(failure);
  describe_trouble();
  // The other addresses first, this one last.
  next_address_ = (current_->address + 1) % addresses_.size();
  tried_ = 0;
  dial_at_ = now;
  config_at_ = kNever;
  current_.reset();
  return Event::lost;
}

void ClientLinks::candidate_failed(Instant now) {
  candidate_.reset();
  if (current_) {
    dial_at_ = !current_->ready && untried() ? now : now + settings_.probe_interval;
  } else if (++tried_ < addresses_.size()) {
    dial_at_ = now;
  } else {
    tried_ = 0;
    dial_at_ = now + backoff_;
    backoff_ = std::min(backoff_ * 2, settings_.backoff_last);
  }
}

bool ClientLinks::untried() const {
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    if (failures_[i].why.empty() && !(current_ && current_->address == i)) return true;
  }
  return false;
}

bool ClientLinks::exhausted() const {
  if (untried()) return false;
  return current_ || std::none_of(failures_.begin(), failures_.end(),
                                  [](const Failure& failure) { return failure.may_answer; });
}

std::optional<Status> ClientLinks::rejection() const {
  const auto one = std::ranges::find_if(failures_, &Failure::unauthenticated);
  if (current_ || !exhausted() || one == failures_.end()) return std::nullopt;
  const std::string& at = addresses_[static_cast<std::size_t>(one - failures_.begin())];
  return Status(Code::unauthenticated, at + ": " + one->why);
}

void ClientLinks::describe_trouble() {
  const std::size_t named = std::min(addresses_.size(), kMostAddressesNamed);
  trouble_ = addresses_.size() == 1 ? "no node answers at " : "no node answers: ";
  for (std::size_t i = 0; i < named; ++i) {
    std::string why = failures_[i].why;
    const bool dialed = candidate_ && candidate_->address == i;
    if (why.empty()) why = dialed ? "no answer yet" : "not tried yet";
    trouble_ += (i == 0 ? "" : "; ") + addresses_[i] + ": " + why;
  }
  if (named < addresses_.size())
    trouble_ += "; and " + std::to_string(addresses_.size() - named) + " more";
}

void ClientLinks::dial(Instant now, ClientEffects& effects) {
  QUIPU_CHECK(!candidate_ && failures_.size() == addresses_.size(),
              "one address is dialed at a time", failures_.size(), addresses_.size());
  std::size_t address = next_address_ % addresses_.size();
  if (current_ && current_->ready) {
    address = 0;  // only the preferred one would be better
  } else {
    if (current_ && address == current_->address) address = (address + 1) % addresses_.size();
    next_address_ = (address + 1) % addresses_.size();
  }
  if (current_ && address == current_->address) {  // there is no other
    dial_at_ = now + settings_.probe_interval;
    return;
  }
  candidate_ =
      Link{.connection = ConnectionId{next_connection_++}, .address = address, .since = now};
  effects.connects.push_back({candidate_->connection, addresses_[address]});
  if (!current_) describe_trouble();
}

ClientLinks::Event ClientLinks::on_config(Instant now, ConnectionId connection,
                                          const ConfigReply& reply, ClientEffects& effects) {
  if (is_current(connection)) {
    current_->asked = false;
    current_->ready = reply.ready;
    config_at_ = reply.ready ? kNever : now + settings_.config_interval;
    learn_addresses(reply);
    if (!reply.ready && dial_at_ == kNever) dial_at_ = now;
    return Event::none;
  }
  if (!is_candidate(connection)) return Event::none;
  if (cluster_.value_or(reply.cluster) != reply.cluster) {
    return give_up(now, connection,
                   "a node of another cluster, \"" + reply.cluster_name + "\", answers there",
                   effects);
  }
  if (current_ && !reply.ready) return give_up(now, connection, "it is not ready", effects);
  candidate_->ready = reply.ready;
  versions_[candidate_->address] =
      common_version(spoken_versions(), reply.by.frames).value_or(versions_[candidate_->address]);
  take_candidate(now, effects);
  cluster_ = reply.cluster;
  learn_addresses(reply);
  return Event::taken;
}

void ClientLinks::take_candidate(Instant now, ClientEffects& effects) {
  QUIPU_CHECK(candidate_.has_value(), "the node that is taken was dialed", taken_);
  if (current_) effects.closes.push_back(current_->connection);
  current_ = std::exchange(candidate_, std::nullopt);
  current_->since = now;
  current_->asked = false;
  config_at_ = current_->ready ? kNever : now + settings_.config_interval;
  if (current_->ready) failures_.assign(addresses_.size(), {});
  dial_at_ = kNever;
  if (!current_->ready) {
    dial_at_ = now;
  } else if (wants_better()) {
    dial_at_ = now + settings_.probe_interval;
  }
  backoff_ = settings_.backoff_first;
  redialed_.reset();
  tried_ = 0;
  waiting_ = false;
  ++taken_;
}

void ClientLinks::learn_addresses(const ConfigReply& reply) {
  for (const MemberInfo& member : reply.members) {
    if (member.client_address.empty() || addresses_.size() >= kMaxAddresses) continue;
    const bool known =
        std::find(addresses_.begin(), addresses_.end(), member.client_address) != addresses_.end();
    if (!known) addresses_.push_back(member.client_address);
  }
  failures_.resize(addresses_.size());
  versions_.resize(addresses_.size(), spoken_versions().from);
}

void ClientLinks::on_heard(Instant now, ConnectionId connection) {
  if (is_current(connection)) current_->since = now;
}

void ClientLinks::set_waiting(Instant now, bool waiting) {
  if (waiting && !waiting_ && current_) current_->since = now;
  waiting_ = waiting;
}

void ClientLinks::ask_config(ClientEffects& effects) {
  if (!current_ || current_->asked) return;
  current_->asked = true;
  encode(effects.frames(current_->connection), ConfigRequest{.id = kConfigId}, version());
}

ClientLinks::Event ClientLinks::watch_current(Instant now, ClientEffects& effects) {
  QUIPU_CHECK(current_.has_value(), "a node that is watched is connected");
  if (now >= config_at_) {
    config_at_ = now + settings_.config_interval;
    ask_config(effects);
  }
  if (!waiting_) return Event::none;
  const Duration silent = now - current_->since;
  if (silent >= settings_.silence_timeout) {
    return give_up(now, current_->connection,
                   "no answer within " + seconds(settings_.silence_timeout), effects);
  }
  // The ping: any node that is alive answers it at once.
  if (silent >= settings_.ping_after) ask_config(effects);
  return Event::none;
}

ClientLinks::Event ClientLinks::on_tick(Instant now, ClientEffects& effects) {
  const Event change = current_ ? watch_current(now, effects) : Event::none;
  if (candidate_ && now - candidate_->since >= settings_.dial_timeout) {
    const std::string within = " within " + seconds(settings_.dial_timeout);
    effects.closes.push_back(candidate_->connection);
    static_cast<void>(drop(now, candidate_->connection,
                           {(candidate_->asked ? "no answer" : "no connection") + within, true}));
  }
  if (!candidate_ && wants_better() && now >= dial_at_) dial(now, effects);
  return change;
}

Instant ClientLinks::deadline() const {
  Instant at = kNever;
  if (candidate_) {
    at = candidate_->since + settings_.dial_timeout;
  } else if (wants_better()) {
    at = dial_at_;
  }
  if (current_) {
    at = std::min(at, config_at_);
    const bool pinged = current_->asked;
    if (waiting_) {
      at = std::min(at,
                    current_->since + (pinged ? settings_.silence_timeout : settings_.ping_after));
    }
  }
  return at;
}

}  // namespace quipu
