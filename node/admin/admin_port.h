// admin_port.h: serves what operators and their programs ask about this process: HTTP/1.1, GET and
// HEAD, one request for each connection. It only reports: no request changes anything.
//
// libmicrohttpd serves it on a thread of its own, so it answers while reactors are stuck and while
// the store is recovered. Bounds: 64 connections, 5 s and 8 KiB for a request, and those of
// admin_connections.h.
//
// With a certificate it speaks TLS 1.3 alone, by GnuTLS, which libmicrohttpd brings. A new
// certificate starts a second server on the same listening socket. The old server stops accepting,
// and ends when its connections are done. So no connection is lost.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/admin/admin_connections.h"
#include "node/admin/credentials.h"
#include "node/net/address.h"
#include "node/tls/tls_context.h"

struct MHD_Daemon;

namespace quipu {

struct AdminPage {
  unsigned status = 200;  // of HTTP
  std::string text;
  const char* type = "text/plain; charset=utf-8";  // lives for ever
};

struct AdminRequest {
  std::string_view path;
  std::string_view host;     // its Host header; empty: there is none
  bool on_loopback = false;  // it came to a loopback address
  std::optional<Credentials> credentials{};
  std::string_view from;  // the client's address
};

class AdminPort {
 public:
  // The page that a request asks for, if there is one. Called on the port's thread. It must not
  // block.
  using Pages = std::function<std::optional<AdminPage>(const AdminRequest& request)>;

  // `tls`: none for plain text. cannot_start: the text names the address and what to do. Port 0
  // takes a free one.
  static Result<std::unique_ptr<AdminPort>> open(const Address& address,
                                                 const std::optional<KeyPair>& tls, Pages pages);
  ~AdminPort();
  AdminPort(const AdminPort&) = delete;
  AdminPort& operator=(const AdminPort&) = delete;

  [[nodiscard]] const Address& address() const { return address_; }
  // For new connections. cannot_start: they still get the one before. Call it on the thread that
  // calls sweep().
  Status set_certificate(const KeyPair& tls);
  // Ends connections that take too long, and servers that have none left. Call it about once a
  // second.
  void sweep(Instant now);

  // ---- for libmicrohttpd ----
  [[nodiscard]] AdminPage answer(std::string_view method, const AdminRequest& request,
                                 bool body) const;
  void opened(int descriptor, std::string from);
  void closed(int descriptor);

 private:
  AdminPort(Address address, Pages pages);

  [[nodiscard]] MHD_Daemon* start(const std::optional<KeyPair>& tls);

  const Address address_;
  const Pages pages_;
  int listening_ = -1;
  MHD_Daemon* daemon_ = nullptr;
  // Servers with an older certificate, which accept no more.
  struct Leaving {
    MHD_Daemon* daemon;
    Instant until;
  };
  std::vector<Leaving> leaving_;
  std::mutex mutex_;
  AdminConnections connections_;
};

}  // namespace quipu
