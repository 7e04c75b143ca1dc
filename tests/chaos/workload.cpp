#include "tests/chaos/workload.h"

#include <algorithm>
#include <stdexcept>

#include "tests/node/eventually.h"

namespace quipu::chaos {

// ---- keys ----

Keys::Current& Keys::rotate(Current& current, std::string_view prefix, std::size_t most) {
  if (current.key.empty() || current.adds == most) {
    current = {std::string(prefix) + std::to_string(++made_), 0};
    recent_.push_back(current.key);
    if (recent_.size() > kRecent) recent_.pop_front();
  }
  return current;
}

Keys::Next Keys::next_witness(Random& random) {
  const std::lock_guard lock(mutex_);
  Current& at = rotate(witnesses_[random.below(kWitnesses)], kWitnessPrefix, kAddsPerWitness);
  return {at.key, witness_amount(at.adds++)};
}

Keys::Next Keys::next_plain(Random& random) {
  const std::lock_guard lock(mutex_);
  Current& at = rotate(plain_[random.below(kPlain)], "plain:", kAddsPerPlain);
  ++at.adds;
  constexpr std::int64_t kLeast = -20;
  return {at.key, kLeast + static_cast<std::int64_t>(random.below(61))};
}

// One that is being added to, or one of late.
std::string Keys::any(Random& random) const {
  const std::lock_guard lock(mutex_);
  if (recent_.empty()) return "plain:0";
  const Current* current =
      random.below(2) == 0 ? &witnesses_[random.below(kWitnesses)] : &plain_[random.below(kPlain)];
  if (random.below(4) != 0 && !current->key.empty()) return current->key;
  return recent_[random.below(recent_.size())];
}

// ---- clients ----

struct Workload::Worker {
  int number = 0;  // from 1; prefers the node of this number
  std::unique_ptr<Client> client;
  Random random;
  std::atomic<std::size_t> in_flight = 0;
  std::thread thread{};
};

std::unique_ptr<Client> connect_to(const std::vector<std::string>& nodes, std::size_t preferred) {
  std::vector<std::string> seeds = nodes;
  std::rotate(seeds.begin(), seeds.begin() + static_cast<std::ptrdiff_t>(preferred), seeds.end());
  auto client = Client::connect({.seeds = std::move(seeds)});
  if (!client.ok()) throw std::runtime_error("no client: " + client.status().message());
  return std::move(*client);
}

Workload::Workload(Options options, Recorder& recorder)
    : options_(std::move(options)), recorder_(recorder) {
  Random random(options_.seed);
  for (std::size_t i = 0; i < options_.nodes.size(); ++i) {
    workers_.push_back(std::make_unique<Worker>(static_cast<int>(i) + 1,
                                                connect_to(options_.nodes, i), random.split()));
  }
  for (auto& worker : workers_) {
    worker->thread = std::thread([this, one = worker.get()] { run(*one); });
  }
}

Workload::~Workload() { stop(); }

void Workload::stop() {
  if (stopping_.exchange(true)) return;
  for (auto& worker : workers_) worker->thread.join();
  const auto none_left = [this] {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& worker) { return worker->in_flight == 0; });
  };
  // Each operation ends by its timeout; a client that is destroyed ends the rest.
  static_cast<void>(test::eventually(none_left, options_.timeout * 2));
  for (auto& worker : workers_) worker->client.reset();
  static_cast<void>(test::eventually(none_left));
}

void Workload::run(Worker& worker) {
  const auto clients = static_cast<std::int64_t>(workers_.size());
  const auto gap =
      std::chrono::nanoseconds(std::chrono::seconds(1)) * clients / options_.operations_per_second;
  auto next = std::chrono::steady_clock::now();
  while (!stopping_) {
    // Paces the load; nothing is waited for.
    std::this_thread::sleep_until(next);
    next = std::max(next + gap, std::chrono::steady_clock::now() - std::chrono::milliseconds(100));
    if (worker.in_flight < options_.in_flight) act(worker);
  }
}

void Workload::act(Worker& worker) {
  ++worker.in_flight;
  if (worker.random.below(100) < 55) {
    add(worker);
  } else {
    read(worker);
  }
}

void Workload::add(Worker& worker) {
  constexpr Ack kLevels[] = {Ack::quorum, Ack::quorum, Ack::disk, Ack::disk, Ack::memory};
  const Ack ack = kLevels[worker.random.below(std::size(kLevels))];
  const bool witness = worker.random.below(5) < 2;
  std::unique_lock order(adding_);
  const Keys::Next next =
      witness ? keys_.next_witness(worker.random) : keys_.next_plain(worker.random);
  const std::size_t number = recorder_.begin(Add{.key = next.key,
                                                 .amount = next.amount,
                                                 .ack = ack,
                                                 .client = worker.number,
                                                 .node = worker.number});
  order.unlock();
  worker.client->counter(next.key).add(next.amount, {.ack = ack, .timeout = options_.timeout},
                                       [this, &worker, number](const Status& status) {
                                         recorder_.end_add(number, status);
                                         --worker.in_flight;
                                       });
}

void Workload::read(Worker& worker) {
  constexpr ReadLevel kLevels[] = {ReadLevel::strong, ReadLevel::strong, ReadLevel::strong,
                                   ReadLevel::local,  ReadLevel::local,  ReadLevel::fresh};
  const ReadLevel level = kLevels[worker.random.below(std::size(kLevels))];
  const std::string key = keys_.any(worker.random);
  const std::size_t number = recorder_.begin(
      Read{.key = key, .level = level, .client = worker.number, .node = worker.number});
  worker.client->counter(key).read({.level = level, .timeout = options_.timeout},
                                   [this, &worker, number](const Result<Reading>& reading) {
                                     recorder_.end_read(number, reading);
                                     --worker.in_flight;
                                   });
}

}  // namespace quipu::chaos
