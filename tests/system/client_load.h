// client_load.h: an application that counts through the client library, without a pause.
#pragma once

#include <quipu/client.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/node/eventually.h"

namespace quipu::test {

inline std::unique_ptr<Client> connect(const std::vector<std::string>& seeds,
                                       const ClientTls& tls = {}) {
  Result<std::unique_ptr<Client>> client = Client::connect({.seeds = seeds, .tls = tls});
  if (!client.ok()) throw std::runtime_error(client.status().message());
  return std::move(*client);
}

// Adds 1 to the counter again and again until told to stop, many at a time.
class ClientLoad {
 public:
  ClientLoad(Client& client, const std::string& key, Ack ack)
      : counter_(client.counter(key)), ack_(ack) {
    for (int i = 0; i < 32; ++i) add();
  }
  // All answers are there.
  [[nodiscard]] bool stop() {
    stopping_ = true;
    return eventually([this] { return open_ == 0; }, std::chrono::seconds(60));
  }
  [[nodiscard]] std::int64_t counted() const { return counted_; }
  [[nodiscard]] std::int64_t doubtful() const { return doubtful_; }
  // Not counted, for whatever reason.
  [[nodiscard]] std::int64_t failed() const { return failed_; }

 private:
  void add() {
    ++open_;
    counter_.add(1, {.ack = ack_, .timeout = std::chrono::seconds(30)},
                 [this](const Status& status) {
                   ++(status.ok() ? counted_ : failed_);
                   if (status.outcome() == Outcome::unknown) ++doubtful_;
                   if (!stopping_) add();
                   --open_;
                 });
  }

  Counter counter_;
  Ack ack_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> open_ = 0;
  std::atomic<std::int64_t> counted_ = 0, failed_ = 0, doubtful_ = 0;
};

}  // namespace quipu::test
