#include "tests/simulator/library_client.h"

#include <algorithm>

namespace quipu::sim {
namespace {

ClientSettings settings(const ClusterConfig& config, HostId host) {
  ClientSettings made;
  for (std::size_t i = 0; i < config.members.size(); ++i)
    made.seeds.push_back(config.members[(i + host) % config.members.size()].client_address);
  return made;
}

}  // namespace

LibraryClient::LibraryClient(Timeline& time, Network& network, std::vector<SimNode*> nodes,
                             HostId host, const ClusterConfig& config, Workload& workload,
                             const Options& options, Random random)
    : time_(time),
      config_(config),
      workload_(workload),
      options_(options),
      random_(random),
      core_(settings(config, host), random_.split()),
      host_(time, network, std::move(nodes), host,
            {[this](ConnectionId connection) {
               ClientEffects effects;
               core_.on_connected(time_.now(), connection, effects);
               perform(effects);
             },
             [this](ConnectionId connection) {
               ClientEffects effects;
               core_.on_closed(time_.now(), connection, "closed", effects);
               perform(effects);
             },
             [this](ConnectionId connection, const FrameDecoder::Frame& frame) {
               ClientEffects effects;
               core_.on_frame(time_.now(), connection, frame.type, frame.payload, effects);
               perform(effects);
             }}) {}

void LibraryClient::start() {
  ClientEffects effects;
  core_.on_tick(time_.now(), effects);
  perform(effects);
}

void LibraryClient::work() {
  const std::optional<Task> task = workload_.next(random_);
  if (!task) return;
  call(*task, [](const ClientAnswer&) {});
  time_.in(std::chrono::microseconds(random_.below(options_.pace_ms * 1000)), [this] { work(); });
}

void LibraryClient::call(Task task, Ended ended) {
  const CallId id{next_call_++};
  const ClientCore::Change change{task.key, task.amount, task.ack, task.timeout, task.affinity};
  ClientEffects effects;
  const Task& kept = calls_.emplace(id, Call{std::move(task), std::move(ended)}).first->second.task;
  switch (kept.what) {
    case Task::What::add:
      core_.add(time_.now(), id, change, effects);
      break;
    case Task::What::reset:
      core_.reset(time_.now(), id, change, effects);
      break;
    case Task::What::raise:
      core_.raise(time_.now(), id, change, effects);
      break;
    case Task::What::read:
      core_.read(time_.now(), id, {{kept.key}, kept.level, kept.timeout}, effects);
      break;
  }
  perform(effects);
}

void LibraryClient::complete(CallId id, const ClientAnswer& answer) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) {
    workload_.fail(Invariant::every_call_ends, "a call was answered twice");
    return;
  }
  const Call call = std::move(at->second);
  calls_.erase(at);
  const Task& task = call.task;
  if (task.what == Task::What::add || task.what == Task::What::reset) {
    if (std::get<Status>(answer).code() == Code::token_expired && !options_.has(Knob::small_tokens))
      workload_.check_session(task);
    workload_.on_done(task, task.ack, std::get<Status>(answer).code(), Workload::Finality::final);
  } else if (task.what == Task::What::raise) {
    workload_.on_raised(task, std::get<Status>(answer).code());
  } else if (const auto* values = std::get_if<Values>(&answer); values != nullptr) {
    // It answers reads as their frames come; should it ever not, their age says less.
    const Instant answered = host_.sent() == kNever ? task.begun : host_.sent();
    workload_.on_value(task, values->values.front(), answered);
  }
  call.ended(answer);
}

void LibraryClient::perform(ClientEffects& effects) {
  for (const ClientEffects::Connect& connect : effects.connects) {
    const auto member =
        std::find_if(config_.members.begin(), config_.members.end(),
                     [&](const Member& one) { return one.client_address == connect.address; });
    host_.connect(connect.connection, static_cast<MemberIndex>(member - config_.members.begin()));
  }
  for (ClientEffects::Send& send : effects.sends)
    host_.send(send.connection, std::move(send.frames));
  for (const ConnectionId connection : effects.closes) host_.close(connection);
  for (const auto& completion : effects.completions) complete(completion.call, completion.answer);
  arm();
}

void LibraryClient::arm() {
  const Instant deadline = std::max(core_.deadline(), time_.now() + std::chrono::microseconds(1));
  if (deadline >= armed_) return;
  armed_ = deadline;
  time_.at(deadline, [this, deadline] {
    if (armed_ != deadline) return;
    armed_ = kNever;
    ClientEffects effects;
    core_.on_tick(time_.now(), effects);
    perform(effects);
  });
}

}  // namespace quipu::sim
