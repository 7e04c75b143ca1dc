#include "node/net/name_lookup.h"

#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <mutex>
#include <system_error>
#include <utility>

#include "node/base/start_thread.h"

namespace quipu {

// The way from the threads to the loop, while there is a loop.
struct NameLookup::Link {
  std::mutex mutex;
  NameLookup* lookup;  // null: gone
};

NameLookup::Answer NameLookup::ask_system(const std::string& host) {
  Answer answer;
  asio::io_context none;  // resolve() does not run it
  asio::ip::tcp::resolver resolver(none);
  for (const auto& entry : resolver.resolve(host, "", answer.error)) {
    answer.addresses.push_back(entry.endpoint().address());
  }
  if (!answer.error && answer.addresses.empty()) answer.error = asio::error::host_not_found;
  return answer;
}

NameLookup::NameLookup(asio::io_context& io, Ask ask)
    : io_(io), ask_(std::move(ask)), link_(std::make_shared<Link>()) {
  link_->lookup = this;
}

NameLookup::~NameLookup() {
  const std::lock_guard lock(link_->mutex);
  link_->lookup = nullptr;
}

void NameLookup::find(const std::string& host, Done done) {
  Name& name = names_[host];
  name.waiting.push_back(std::move(done));
  if (name.kept) return post(link_, host, *std::exchange(name.kept, std::nullopt));
  if (!std::exchange(name.asking, true)) ask(host);
}

void NameLookup::ask(const std::string& host) {
  try {
    start_thread("quipu-lookup", [link = link_, host, ask = ask_] {
      post(link, host, ask(host));
    }).detach();
  } catch (const std::system_error& no_thread) {
    post(link_, host, {no_thread.code(), {}});
  }
}

void NameLookup::post(const std::shared_ptr<Link>& link, const std::string& host, Answer answer) {
  const std::lock_guard lock(link->mutex);
  if (link->lookup == nullptr) return;
  asio::post(link->lookup->io_, [link, host, answer = std::move(answer)]() mutable {
    // It is destroyed on the loop's thread, if at all while that runs.
    if (link->lookup != nullptr) link->lookup->on_answer(host, std::move(answer));
  });
}

void NameLookup::on_answer(const std::string& host, Answer answer) {
  Name& name = names_[host];
  name.asking = false;
  bool taken = false;
  for (const Done& done : std::exchange(name.waiting, {})) taken = done(answer) || taken;
  if (!taken) name.kept = std::move(answer);
}

}  // namespace quipu
