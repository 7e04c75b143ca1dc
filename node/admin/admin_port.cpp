#include "node/admin/admin_port.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "node/base/clock.h"
#include "node/base/start_thread.h"
#include "node/net/listener.h"

namespace quipu {
namespace {

// AdminConnections makes room before. The library has a limit for each address, too. But it counts
// what was shut down until its next turn, and refuses the newest: a probe.
constexpr unsigned kConnections = 64;
constexpr unsigned kSeconds = 5;
constexpr std::size_t kRequestBytes = 8 << 10;

// For people.
std::string text_of(const sockaddr* address) {
  std::array<char, NI_MAXHOST> host{};
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const int failed =
      ::getnameinfo(address, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? host.data() : "unknown";
}

// The bytes of an address by which its connections are counted.
std::string source_of(const sockaddr* address) {
  const auto bytes = [](const void* from, std::size_t size) {
    return std::string(static_cast<const char*>(from), size);
  };
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return bytes(&v4.sin_addr, sizeof v4.sin_addr);
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return bytes(&v6.sin6_addr.s6_addr[12], 4);
  return bytes(&v6.sin6_addr, 8);
}

// Whether the connection was made to a loopback address, also one of IPv4 in IPv6.
bool came_to_loopback(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
  return mapped ? v6.sin6_addr.s6_addr[12] == 127 : IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

void on_connection(void* port, MHD_Connection* connection, void**,
                   MHD_ConnectionNotificationCode what) {
  // The second call may overwrite what the first one points to.
  const int socket =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  const sockaddr* const client =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
  auto& self = *static_cast<AdminPort*>(port);
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    self.opened(socket, source_of(client));
  } else {
    self.closed(socket);
  }
}

bool has_body(MHD_Connection* connection) {
  const char* const length =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  const bool none = length == nullptr || std::string_view(length) == "0";
  return !none || MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                              MHD_HTTP_HEADER_TRANSFER_ENCODING) != nullptr;
}

// Called once the header has been read.
MHD_Result on_request(void* port, MHD_Connection* connection, const char* path, const char* method,
                      const char*, const char*, std::size_t*, void**) {
  const char* const host =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
  const int socket =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  const char* const authorization =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
  const std::string from =
      text_of(MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
  const AdminRequest request{
      .path = path,
      .host = host == nullptr ? "" : host,
      .on_loopback = came_to_loopback(socket),
      .credentials = read_authorization(authorization == nullptr ? "" : authorization),
      .from = from};
  const AdminPage page =
      static_cast<const AdminPort*>(port)->answer(method, request, has_body(connection));
  MHD_Response* const response = MHD_create_response_from_buffer(
      page.text.size(), const_cast<char*>(page.text.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  for (const auto& [name, value] :
       {std::pair{"Content-Type", page.type}, std::pair{"Cache-Control", "no-store"},
        std::pair{"Connection", "close"}})
    MHD_add_response_header(response, name, value);
  if (page.status == MHD_HTTP_METHOD_NOT_ALLOWED)
    MHD_add_response_header(response, "Allow", "GET, HEAD");
  if (page.status == MHD_HTTP_UNAUTHORIZED)
    MHD_add_response_header(response, "WWW-Authenticate", "Basic realm=\"quipu\", Bearer");
  const MHD_Result queued = MHD_queue_response(connection, page.status, response);
  MHD_destroy_response(response);
  return queued;
}

}  // namespace

AdminPort::AdminPort(Address address, Pages pages)
    : address_(std::move(address)), pages_(std::move(pages)) {}

Result<std::unique_ptr<AdminPort>> AdminPort::open(const Address& address,
                                                   const std::optional<KeyPair>& tls, Pages pages) {
  asio::io_context io;
  Listener listener(io);
  if (Status bound = listener.bind(address); !bound.ok()) return bound;
  std::unique_ptr<AdminPort> port(new AdminPort(listener.address(), std::move(pages)));
  const Result<int> socket = listener.hand_over();
  if (!socket.ok()) return socket.status();
  port->listening_ = *socket;
  port->daemon_ = port->start(tls);
  if (port->daemon_ != nullptr) return port;
  return Status(Code::cannot_start, "the admin port " + to_string(address) +
                                        " cannot be served: let this process open more files "
                                        "(ulimit -n)" +
                                        (tls ? ", or check tls.certificate and tls.key" : ""));
}

MHD_Daemon* AdminPort::start(const std::optional<KeyPair>& tls) {
  std::vector<MHD_OptionItem> secure;
  const auto add = [&secure](MHD_OPTION option, const char* text) {
    secure.push_back({option, 0, const_cast<char*>(text)});  // which it only reads
  };
  if (tls) {
    add(MHD_OPTION_HTTPS_MEM_CERT, tls->certificate.c_str());
    add(MHD_OPTION_HTTPS_MEM_KEY, tls->key.c_str());
    add(MHD_OPTION_HTTPS_PRIORITIES, "NORMAL:-VERS-ALL:+VERS-TLS1.3");
  }
  add(MHD_OPTION_END, nullptr);
  const unsigned flags =
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | (tls ? unsigned{MHD_USE_TLS} : 0u);
  // The library closes the socket that it is given, also if it fails: so this one is a copy.
  const int socket = ::fcntl(listening_, F_DUPFD_CLOEXEC, 0);
  if (socket < 0) return nullptr;
  const SignalsBlocked blocked;  // in the thread that it starts
  return MHD_start_daemon(flags, 0, nullptr, nullptr, on_request, this, MHD_OPTION_LISTEN_SOCKET,
                          socket, MHD_OPTION_NOTIFY_CONNECTION, on_connection, this,
                          MHD_OPTION_CONNECTION_LIMIT, kConnections, MHD_OPTION_CONNECTION_TIMEOUT,
                          kSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kRequestBytes,
                          MHD_OPTION_ARRAY, secure.data(), MHD_OPTION_END);
}

AdminPort::~AdminPort() {
  for (const Leaving& one : leaving_) MHD_stop_daemon(one.daemon);
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  if (listening_ >= 0) ::close(listening_);
}

Status AdminPort::set_certificate(const KeyPair& tls) {
  MHD_Daemon* const next = start(tls);
  if (next == nullptr)
    return {Code::cannot_start,
            "the admin port cannot use the new certificate: check its PEM file"};
  if (const int socket = MHD_quiesce_daemon(daemon_); socket >= 0) ::close(socket);
  leaving_.push_back({daemon_, NodeClock::now() + AdminConnections::kMostAge});
  daemon_ = next;
  return {};
}

AdminPage AdminPort::answer(std::string_view method, const AdminRequest& request, bool body) const {
  if (method != "GET" && method != "HEAD") return {405, "use GET or HEAD\n"};
  if (body) return {413, "send no body\n"};
  const std::optional<AdminPage> page = pages_(request);
  return page ? *page : AdminPage{404, "there is no such page\n"};
}

void AdminPort::opened(int descriptor, std::string from) {
  const std::lock_guard lock(mutex_);
  const auto leaves = connections_.opened(NodeClock::now(), descriptor, std::move(from));
  if (leaves) ::shutdown(*leaves, SHUT_RDWR);
}

void AdminPort::closed(int descriptor) {
  const std::lock_guard lock(mutex_);
  connections_.closed(descriptor);
}

void AdminPort::sweep(Instant now) {
  std::erase_if(leaving_, [now](const Leaving& one) {
    const auto* const open = MHD_get_daemon_info(one.daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    const bool over = now > one.until || open == nullptr || open->num_connections == 0;
    if (over) MHD_stop_daemon(one.daemon);
    return over;
  });
  const std::lock_guard lock(mutex_);
  for (const int descriptor : connections_.take_old(now)) ::shutdown(descriptor, SHUT_RDWR);
}

}  // namespace quipu
