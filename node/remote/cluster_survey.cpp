#include "node/remote/cluster_survey.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "node/net/address.h"
#include "protocol/message_codec.h"

namespace quipu {
namespace {

std::optional<std::chrono::milliseconds> clock_of(std::int64_t ms) {
  if (ms == kUnknownClock) return std::nullopt;
  return std::chrono::milliseconds(ms);
}

MemberStatus::Peer to_peer(const PeerStatus& told) {
  MemberStatus::Peer peer{told.name, told.address, told.state, told.outbox, std::nullopt};
  if (told.age_ms != kUnknownAge) peer.age = std::chrono::milliseconds(told.age_ms);
  peer.clock = clock_of(told.clock_ms);
  return peer;
}

Status no_status(std::string why) { return {Code::unavailable, std::move(why)}; }

}  // namespace

ClusterSurvey::ClusterSurvey(asio::io_context& io, Question question, Done done)
    : io_(io), question_(std::move(question)), done_(std::move(done)), timer_(io) {
  const ConfigReply& config = question_.config;
  status_.cluster = config.cluster_name;
  status_.config_version = config.version;
  status_.replication = config.replication;
  for (const MemberInfo& told : config.members) {
    MemberStatus member{
        .name = told.name, .client_address = told.client_address, .weight = told.weight};
    member.reached = no_status("no answer in time");
    status_.members.push_back(std::move(member));
  }
  for (const StatusReply& reply : question_.known) {
    if (const auto member = find(reply.node)) take(*member, reply);
  }
}

void ClusterSurvey::start() {
  timer_.expires_at(question_.deadline);
  timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->finish();
  });
  bool hidden = false;
  for (std::size_t i = 0; i < status_.members.size(); ++i) {
    MemberStatus& member = status_.members[i];
    if (member.reached.ok()) continue;
    if (!member.client_address.empty()) {
      ask(member.client_address, i);
    } else {
      hidden = true;
      member.reached = no_status("its client address is not known, or it has no client port");
    }
  }
  for (const std::string& address : question_.addresses) {
    const bool asked = std::ranges::any_of(
        targets_, [&](const Target& target) { return target.address == address; });
    if (hidden && !asked) ask(address, std::nullopt);
  }
  if (open_ == 0) asio::post(io_, [self = shared_from_this()] { self->finish(); });
}

std::optional<std::size_t> ClusterSurvey::find(NodeId node) const {
  const std::vector<MemberInfo>& members = question_.config.members;
  const auto at = std::ranges::find(members, node, &MemberInfo::node);
  if (at == members.end()) return std::nullopt;
  return static_cast<std::size_t>(at - members.begin());
}

void ClusterSurvey::take(std::size_t at, const StatusReply& reply) {
  take_status(status_.members[at], reply);
}

void take_status(MemberStatus& member, const StatusReply& reply) {
  member.reached = Status();
  member.state = reply.state;
  member.clock = clock_of(reply.clock_ms);
  member.clock_trusted = reply.clock_trusted;
  member.clock_doubt = reply.clock_doubt;
  member.users_digest = reply.users;
  member.store = raw(reply.store);
  member.peers.clear();
  for (const PeerStatus& peer : reply.peers) member.peers.push_back(to_peer(peer));
  for (const Stat& stat : reply.stats) member.figures[stat.name] = stat.value;
}

// The highest that both speak, if the target refused another one.
std::optional<FrameVersion> ClusterSurvey::version_after(const Target& target,
                                                         const FrameDecoder::Frame& frame) {
  if (frame.type != FrameType::refusal || target.again) return std::nullopt;
  const Result<Refusal> refusal = decode_refusal(frame.payload);
  if (!refusal.ok()) return std::nullopt;
  const auto version = common_version(spoken_versions(), refusal->by.frames);
  return version == target.version ? std::nullopt : version;
}

FrameVersion ClusterSurvey::version() const {
  const FrameVersions spoken = spoken_versions();
  return common_version(spoken, question_.config.by.frames).value_or(spoken.from);
}

void ClusterSurvey::ask(const std::string& address, std::optional<std::size_t> member) {
  ask(address, member, version(), false);
}

void ClusterSurvey::ask(const std::string& address, std::optional<std::size_t> member,
                        FrameVersion version, bool again) {
  const Result<Address> to = parse_address(address);
  if (!to.ok()) {
    if (member) status_.members[*member].reached = no_status(to.status().detail());
    return;
  }
  const std::size_t target = targets_.size();
  const NodeId node = member ? question_.config.members[*member].node : NodeId{};
  const auto self = shared_from_this();
  ClientConnection::Events events{
      .connected =
          [self, target, node, version] {
            std::string request;
            encode_credentials(request, self->question_.credentials, version);
            encode(request, StatusRequest{.id = 1, .node = node}, version);
            self->targets_[target].connection->send(std::move(request));
            self->targets_[target].connection->flush();
          },
      .closed = [self, target](std::string why) { self->end(target, no_status(std::move(why))); },
      .frame =
          [self, target](const FrameDecoder::Frame& frame) {
            const Target asked = self->targets_[target];
            const auto admitted = answer_to_credentials(frame.type, frame.payload);
            if (admitted && admitted->ok()) return;  // the status follows
            if (admitted) return self->end(target, *admitted);
            if (const auto other = version_after(asked, frame))
              self->ask(asked.address, asked.member, *other, true);
            self->end(target, self->take_answer(asked, frame));
          },
      .turn_over = [] {}};
  const auto connection = std::make_shared<ClientConnection>(io_, question_.tls, std::move(events));
  targets_.push_back({connection, address, member, version, again});
  ++open_;
  connection->dial(*to);
}

Status ClusterSurvey::take_answer(const Target& target, const FrameDecoder::Frame& frame) {
  if (frame.type == FrameType::refusal) {
    const Result<Refusal> refusal = decode_refusal(frame.payload);
    return refusal.ok() ? unanswered(*refusal) : no_status("it refused the question");
  }
  if (frame.type != FrameType::status_reply) return no_status("it answered something else");
  const Result<StatusReply> reply = decode_status_reply(frame.payload);
  if (!reply.ok()) return no_status(reply.status().detail());
  if (reply->cluster != question_.config.cluster)
    return no_status("a node of another cluster answers at " + target.address);
  const auto member = find(reply->node);
  if (!member || member != target.member.value_or(*member))
    return no_status("another member answers at " + target.address);
  take(*member, *reply);
  status_.members[*member].reached = {};
  if (status_.members[*member].client_address.empty())
    status_.members[*member].client_address = target.address;
  return {};
}

// Within a callback of the connection, which lives until the callback returns.
void ClusterSurvey::end(std::size_t at, const Status& result) {
  Target& target = targets_[at];
  if (target.connection == nullptr) return;
  std::exchange(target.connection, nullptr)->close();
  if (!result.ok() && target.member) status_.members[*target.member].reached = result;
  if (--open_ == 0) finish();
}

void ClusterSurvey::finish() {
  if (!done_) return;
  const Done done = std::exchange(done_, nullptr);
  cancel();
  std::ranges::sort(status_.members, {}, &MemberStatus::name);
  done(std::move(status_));
}

void ClusterSurvey::cancel() {
  done_ = nullptr;
  timer_.cancel();
  for (Target& target : targets_) {
    if (target.connection != nullptr) std::exchange(target.connection, nullptr)->close();
  }
}

}  // namespace quipu
