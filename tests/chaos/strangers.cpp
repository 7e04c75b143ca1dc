#include "tests/chaos/strangers.h"

#include <asio/io_context.hpp>
#include <fstream>
#include <stdexcept>

#include "node/tls/hashes.h"
#include "node/tls/random_bytes.h"
#include "node/tls/tls_handshake.h"
#include "tests/node/tls/test_certificates.h"

namespace quipu::chaos {
namespace {

using asio::ip::tcp;

std::shared_ptr<const TlsContext> made(const TlsContext::Made& context) {
  if (!context.ok()) throw std::runtime_error("no TLS context: " + context.status().message());
  return *context;
}

}  // namespace

ProtectionFiles write_protection(const std::filesystem::path& directory,
                                 const std::vector<std::string>& hosts) {
  const auto write = [&](const char* name, const std::string& text) {
    const std::filesystem::path path = directory / name;
    std::ofstream(path) << text;
    return path.string();
  };
  test::TestCa::Order order;
  for (const std::string& host : hosts) order.names += ",IP:" + host;
  const test::TestCa ca("the CA of this run");
  const KeyPair own = ca.issue(order);
  return {.secret = write("cluster.secret", in_hex(random_bytes()) + "\n"),
          .certificate = write("certificate.pem", own.certificate),
          .key = write("key.pem", own.key),
          .ca = write("ca.pem", ca.certificate())};
}

Strangers::Strangers(std::vector<std::string> ports) : ports_(std::move(ports)) {
  thread_ = std::thread([this] { run(); });
}

void Strangers::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void Strangers::run() {
  const test::TestCa other("another CA");
  const std::array as{made(TlsContext::for_members({random_bytes()})),
                      made(TlsContext::for_members(other.issue(), other.certificate()))};
  for (std::size_t i = 0; !stopping_; ++i)
    dial(ports_[i / as.size() % ports_.size()], as[i % as.size()]);
}

// A port that cannot be reached neither refuses nor accepts: other faults may be under way.
void Strangers::dial(const std::string& port, const std::shared_ptr<const TlsContext>& as) {
  constexpr std::chrono::seconds kPatience{1};
  const std::size_t colon = port.rfind(':');
  const tcp::endpoint to(asio::ip::make_address(port.substr(0, colon)),
                         static_cast<std::uint16_t>(std::stoul(port.substr(colon + 1))));
  asio::io_context io;
  tcp::socket socket(io);
  socket.async_connect(to, [&](const asio::error_code& error) {
    if (error) return;
    socket.non_blocking(true);
    auto tls = std::make_unique<TlsStream>(as, TlsStream::Role::connect, "127.0.0.1");
    const auto done = [&](const Result<SecuredSocket>& result) {
      if (result.ok()) {
        accepted_.push_back(port);
      } else {
        ++refused_;
      }
    };
    std::make_shared<TlsHandshake>(std::move(socket), std::move(tls), done)->start();
  });
  io.run_for(kPatience);
}

}  // namespace quipu::chaos
