#include "tests/chaos/aftermath.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "tests/node/eventually.h"

namespace quipu::chaos {
namespace {

constexpr std::size_t kWindow = 256;
constexpr std::chrono::seconds kTimeout{10};

// Reads of all keys through one client, in their order.
class Sweep {
 public:
  Sweep(Client& client, int node, ReadLevel level, const std::vector<std::string>& keys,
        const Recorder& recorder)
      : reads_(keys.size()) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      static_cast<void>(test::eventually([this] { return open_ < kWindow; }, 2 * kTimeout));
      reads_[i] = {
          .key = keys[i], .level = level, .client = 0, .node = node, .began = recorder.now()};
      ++open_;
      read_from(client, keys[i], {.level = level, .timeout = kTimeout},
                [this, i, &recorder](const Result<Told>& told) {
                  reads_[i].ended = recorder.now();
                  note(reads_[i], told);
                  --open_;
                });
    }
    static_cast<void>(test::eventually([this] { return open_ == 0; }, 2 * kTimeout));
  }
  [[nodiscard]] const Read& operator[](std::size_t i) const { return reads_[i]; }

 private:
  std::vector<Read> reads_;
  std::atomic<std::size_t> open_ = 0;
};

// The first key, or why the list cannot be made. Empty: nothing.
std::string what_is_listed(Client& client, std::string_view prefix) {
  ListCursor at = ListCursor::begin;
  while (at != ListCursor::end) {
    const ListPage page = client.list({.prefix = std::string(prefix), .cursor = at});
    if (!page.status.ok()) return "cannot list: " + page.status.message();
    if (!page.keys.empty()) return page.keys.front();
    at = page.next;
  }
  return "";
}

}  // namespace

Aftermath read_everywhere(const Nodes& nodes, const std::vector<std::string>& keys,
                          const Recorder& recorder, std::chrono::seconds patience) {
  Aftermath result;
  result.keys = keys.size();
  std::vector<std::unique_ptr<Client>> clients;
  for (const std::string& node : nodes.addresses)
    clients.push_back(connect_to({{node}, nodes.tls}, 0));
  const Time began = recorder.now();
  std::vector<std::string> open = keys;
  for (int round = 1; !open.empty(); ++round) {
    const bool last = round >= 2 && recorder.now() - began > patience;
    std::vector<std::unique_ptr<Sweep>> sweeps;
    sweeps.push_back(std::make_unique<Sweep>(*clients[0], 1, ReadLevel::strong, open, recorder));
    for (std::size_t node = 0; node < nodes.addresses.size(); ++node) {
      sweeps.push_back(std::make_unique<Sweep>(*clients[node], static_cast<int>(node) + 1,
                                               ReadLevel::local, open, recorder));
    }
    std::vector<std::string> differing;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const Read& strong = (*sweeps[0])[i];
      const bool agrees = std::ranges::all_of(sweeps, [&](const auto& sweep) {
        const Read& read = (*sweep)[i];
        return read.value && read.value == strong.value && read.items == strong.items &&
               read.complete;
      });
      if (!agrees && !last) {
        differing.push_back(open[i]);
        for (const auto& sweep : sweeps) result.earlier.push_back((*sweep)[i]);
        continue;
      }
      for (const auto& sweep : sweeps) result.reads.push_back((*sweep)[i]);
    }
    result.agreed = differing.empty() && !last;
    open = std::move(differing);
  }
  result.took = std::chrono::duration_cast<std::chrono::milliseconds>(recorder.now() - began);
  return result;
}

std::string await_empty_lists(const Nodes& nodes, std::string_view prefix,
                              std::chrono::seconds patience) {
  std::vector<std::unique_ptr<Client>> clients;
  for (const std::string& node : nodes.addresses)
    clients.push_back(connect_to({{node}, nodes.tls}, 0));
  std::string left;
  static_cast<void>(test::eventually(
      [&] {
        left.clear();
        for (std::size_t node = 0; node < nodes.addresses.size(); ++node) {
          const std::string listed = what_is_listed(*clients[node], prefix);
          if (!listed.empty()) left += " n" + std::to_string(node + 1) + ": " + listed;
        }
        return left.empty();
      },
      patience));
  return left;
}

}  // namespace quipu::chaos
