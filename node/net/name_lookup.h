// name_lookup.h: asks the system for the addresses of a host without blocking the event loop.
//
//   find ─▶ a thread of its own, one per name, in getaddrinfo ─▶ done, on the loop
//
// getaddrinfo cannot be cancelled, and may take 30 s if a name server is silent. So its thread
// is never joined: it holds nothing of ours, and its result is dropped if the loop has gone. A
// caller that gives up and asks again finds the first question still under way, or its answer.
// Otherwise an answer that takes longer than one attempt would never be used. The loop's
// thread.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quipu {

class NameLookup {
 public:
  struct Answer {
    asio::error_code error;
    std::vector<asio::ip::address> addresses;
  };
  // False: the caller does not wait any more. An answer that no caller took waits for the next
  // find.
  using Done = std::function<bool(const Answer&)>;
  // Blocks, on any thread.
  using Ask = std::function<Answer(const std::string& host)>;

  [[nodiscard]] static Answer ask_system(const std::string& host);

  explicit NameLookup(asio::io_context& io, Ask ask = ask_system);
  // Does not wait, and calls nothing any more. The io_context still lives.
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  // `done` is called later, never from within find.
  void find(const std::string& host, Done done);

  [[nodiscard]] asio::io_context& loop() const { return io_; }

 private:
  struct Link;
  struct Name {
    bool asking = false;
    std::vector<Done> waiting;
    std::optional<Answer> kept;
  };

  void ask(const std::string& host);
  static void post(const std::shared_ptr<Link>& link, const std::string& host, Answer answer);
  void on_answer(const std::string& host, Answer answer);

  asio::io_context& io_;
  const Ask ask_;
  std::shared_ptr<Link> link_;
  std::map<std::string, Name> names_;  // only those of seeds and members, so few
};

}  // namespace quipu
