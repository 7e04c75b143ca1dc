#include "tests/chaos/workload.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tests/node/eventually.h"

namespace quipu::chaos {
namespace {

// What a Redis client knows of its add.
Status status_of(test::RespPipeline::Fate fate, std::string_view reply) {
  using Fate = test::RespPipeline::Fate;
  if (fate == Fate::not_sent) return {Code::unavailable, "not connected"};
  if (fate == Fate::unknown) return {Code::in_doubt, "the connection broke before the reply"};
  const bool counted = reply.starts_with(':') || reply.starts_with('*') ||
                       reply.starts_with("-PARTIAL it was added");
  if (counted) return {};
  const Code code = reply.starts_with("-INDOUBT") ? Code::in_doubt : Code::unavailable;
  return {code, std::string(reply.substr(0, reply.find('\r')))};
}

}  // namespace

struct Workload::Worker {
  int number = 0;  // from 1; prefers the node of this number
  std::unique_ptr<Client> client;
  Random random;
  std::atomic<std::size_t> in_flight = 0;
  std::thread thread{};
};

struct Workload::RedisWorker {
  int number = 0;
  Random random;
  // Behind other kinds of adds an INCR waits for what they wait for, too.
  bool only_incr = false;
  std::atomic<std::size_t> in_flight = 0;
  std::thread thread{};
  std::unique_ptr<test::RespPipeline> client{};
};

std::unique_ptr<Client> connect_to(const Nodes& nodes, std::size_t preferred) {
  std::vector<std::string> seeds = nodes.addresses;
  std::rotate(seeds.begin(), seeds.begin() + static_cast<std::ptrdiff_t>(preferred), seeds.end());
  auto client = Client::connect({.seeds = std::move(seeds), .tls = nodes.tls});
  if (!client.ok()) throw std::runtime_error("no client: " + client.status().message());
  return std::move(*client);
}

Workload::Workload(Options options, Recorder& recorder)
    : options_(std::move(options)), recorder_(recorder) {
  Random random(options_.seed);
  for (std::size_t i = 0; i < options_.nodes.addresses.size(); ++i) {
    workers_.push_back(std::make_unique<Worker>(static_cast<int>(i) + 1,
                                                connect_to(options_.nodes, i), random.split()));
  }
  for (const bool only_incr : {true, false}) {
    const std::size_t first = redis_.size();
    const auto number = static_cast<int>(options_.nodes.addresses.size() + first + 1);
    redis_.push_back(std::make_unique<RedisWorker>(number, random.split(), only_incr));
    redis_.back()->client =
        std::make_unique<test::RespPipeline>(options_.nodes.addresses, first, options_.timeout);
  }
  if (options_.percent_of_other_kinds > 0) keys_.name_elements(find_elements(*workers_[0]->client));
  for (auto& worker : workers_) {
    worker->thread = std::thread([this, one = worker.get()] { run(*one); });
  }
  for (auto& worker : redis_) {
    worker->thread = std::thread([this, one = worker.get()] { run(*one); });
  }
}

Workload::~Workload() { stop(); }

void Workload::stop() {
  if (stopping_.exchange(true)) return;
  for (auto& worker : workers_) worker->thread.join();
  for (auto& worker : redis_) worker->thread.join();
  const auto none_left = [this] {
    const auto ended = [](const auto& worker) { return worker->in_flight == 0; };
    return std::all_of(workers_.begin(), workers_.end(), ended) &&
           std::all_of(redis_.begin(), redis_.end(), ended);
  };
  // Each operation ends by its timeout; a client that is destroyed ends the rest.
  static_cast<void>(test::eventually(none_left, options_.timeout * 2));
  for (auto& worker : workers_) worker->client.reset();
  for (auto& worker : redis_) worker->client.reset();
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
  const std::uint64_t draw = worker.random.below(100);
  if (draw < 2) {
    add_briefly(worker);
  } else if (draw < 57) {
    add(worker);
  } else {
    read(worker);
  }
}

bool Workload::draw_other_kind(Random& random) const {
  return random.below(100) < options_.percent_of_other_kinds;
}

// Which kind of key is used next, among those that all clients share.
Workload::Sort Workload::draw_sort(Random& random) const {
  if (draw_other_kind(random)) return Sort::of_other_kind;
  return random.below(5) < 2 ? Sort::witness : Sort::plain;
}

Keys::Next Workload::next(Sort sort, Random& random) {
  switch (sort) {
    case Sort::witness:
      return keys_.next_witness(random);
    case Sort::plain:
      return keys_.next_plain(random);
    case Sort::counted:
      return keys_.next_counted();
    default:
      return keys_.next_of_other_kind(random);
  }
}

Workload::Begun Workload::begin(Sort sort, Random& random, Add add) {
  const std::lock_guard order(adding_);
  Keys::Next drawn = next(sort, random);
  add.key = drawn.key;
  add.item = drawn.item;
  add.amount = drawn.amount;
  return {recorder_.begin(std::move(add)), std::move(drawn)};
}

void Workload::run(RedisWorker& worker) {
  const auto gap =
      std::chrono::nanoseconds(std::chrono::seconds(1)) / options_.pipelines_per_second;
  auto next = std::chrono::steady_clock::now();
  while (!stopping_) {
    // Paces the load; nothing is waited for.
    std::this_thread::sleep_until(next);
    next = std::max(next + gap, std::chrono::steady_clock::now() - std::chrono::milliseconds(10));
    if (worker.in_flight < options_.in_flight && worker.client->connected()) pipeline(worker);
  }
}

// INCRs are of the Redis clients' own counter, at the default `disk`.
void Workload::pipeline(RedisWorker& worker) {
  constexpr Ack kLevels[] = {Ack::quorum, Ack::disk, Ack::memory};
  std::vector<test::RespPipeline::Request> requests;
  for (std::size_t more = 1 + worker.random.below(2); more > 0; --more) {
    const bool plain = worker.only_incr || worker.random.below(2) == 0;
    const Ack level = kLevels[worker.random.below(std::size(kLevels))];
    const Sort sort = plain ? Sort::counted : draw_sort(worker.random);
    const bool names_level = sort == Sort::witness || sort == Sort::plain;
    const Add add{.ack = names_level ? level : Ack::disk,
                  .client = worker.number,
                  .node = static_cast<int>(worker.client->at()) + 1};
    const auto [number, next] = begin(sort, worker.random, add);
    const std::string line = plain ? "INCR " + next.key : redis_line(next, level);
    ++worker.in_flight;
    requests.push_back({line, [this, &worker, number = number](auto fate, std::string_view reply) {
                          recorder_.end_add(number, status_of(fate, reply));
                          --worker.in_flight;
                        }});
  }
  worker.client->ask(std::move(requests));
}

void Workload::add(Worker& worker) {
  constexpr Ack kLevels[] = {Ack::quorum, Ack::quorum, Ack::disk, Ack::disk, Ack::memory};
  const Ack ack = kLevels[worker.random.below(std::size(kLevels))];
  const auto [number, next] = begin(draw_sort(worker.random), worker.random,
                                    {.ack = ack, .client = worker.number, .node = worker.number});
  AddOptions options{.ack = ack, .timeout = options_.timeout};
  if (next.ends) options.ttl = options_.life;
  add_to(*worker.client, next, options, [this, &worker, number = number](const Status& status) {
    recorder_.end_add(number, status);
    --worker.in_flight;
  });
}

void Workload::add_briefly(Worker& worker) {
  constexpr std::chrono::milliseconds kLives{500};
  const std::string key = std::string(kBriefPrefix) + std::to_string(++named_briefly_);
  worker.client->counter(key).add(
      1, {.timeout = options_.timeout, .ttl = kLives * (1 + worker.random.below(8))},
      [this, &worker](const Status& status) {
        if (status.ok()) ++brief_;
        --worker.in_flight;
      });
}

void Workload::read(Worker& worker) {
  constexpr ReadLevel kLevels[] = {ReadLevel::strong, ReadLevel::strong, ReadLevel::strong,
                                   ReadLevel::local,  ReadLevel::local,  ReadLevel::fresh};
  const ReadLevel level = kLevels[worker.random.below(std::size(kLevels))];
  const std::string key = draw_other_kind(worker.random) ? keys_.any_of_other_kind(worker.random)
                                                         : keys_.any_sum(worker.random);
  const std::size_t number = recorder_.begin(
      Read{.key = key, .level = level, .client = worker.number, .node = worker.number});
  read_from(*worker.client, key, {.level = level, .timeout = options_.timeout},
            [this, &worker, number](const Result<Told>& told) {
              recorder_.end_read(number, told);
              --worker.in_flight;
            });
}

}  // namespace quipu::chaos
