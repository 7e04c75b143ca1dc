// tls_port.cpp: two honest sides of TLS connections, and a stranger who owns the network between
// them: it changes, removes, repeats and adds bytes. And the text of a cluster's secret file.
#include <algorithm>
#include <array>
#include <vector>

#include "node/tls/hashes.h"
#include "node/tls/tls_files.h"
#include "node/tls/tls_stream.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/chunks.h"
#include "tests/node/tls/test_certificates.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace quipu::fuzz {
namespace {

using Context = std::shared_ptr<const TlsContext>;

Context made(const TlsContext::Made& context) {
  check(context.ok(), "the target's own certificates are sound");
  return *context;
}

// The two sides of a connection, and whether they trust each other.
struct Meeting {
  Context accepts;
  Context connects;
  bool trusted = true;
};

const std::vector<Meeting>& meetings() {
  static const std::vector<Meeting> all = [] {
    const test::TestCa ca, other("another CA");
    ClusterSecret first{1}, second{2};
    const auto port = made(TlsContext::for_port(ca.issue(), {}));
    const auto client = made(TlsContext::for_client(ca.certificate(), ca.issue()));
    const auto member = made(TlsContext::for_members(ca.issue(), ca.certificate()));
    const auto by_either = made(TlsContext::for_members({first, second}));
    const auto by_second = made(TlsContext::for_members({second}));
    const auto stranger = made(TlsContext::for_members({ClusterSecret{3}}));
    return std::vector<Meeting>{
        {port, client},
        {by_either, by_second},
        {made(TlsContext::for_port(ca.issue(), ca.certificate())), client},
        {member, member},
        {by_either, stranger, false},
        {port, by_second, false},
        {by_either, client, false},
        {member, made(TlsContext::for_members(other.issue(), ca.certificate())), false},
    };
  }();
  return all;
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// It reads as TlsHandshake and Channel do.
class Side {
 public:
  Side(Context context, TlsStream::Role role) : tls_(std::move(context), role, "localhost") {
    if (role == TlsStream::Role::connect) shake({});
  }

  void hear(std::string_view bytes, const Side& other) {
    while (!bytes.empty() && state_ == State::shaking) {
      const std::size_t wanted = header_.size() < 5 ? 5 - header_.size() : body_left_;
      const std::string_view piece = bytes.substr(0, std::min(wanted, kTlsRecord));
      bytes.remove_prefix(piece.size());
      if (header_.size() < 5) {
        header_ += piece;
        if (header_.size() == 5)
          body_left_ = std::size_t{static_cast<std::uint8_t>(header_[3])} << 8 |
                       static_cast<std::uint8_t>(header_[4]);
      } else {
        body_left_ -= piece.size();
      }
      if (header_.size() == 5 && body_left_ == 0) header_.clear();
      shake(as_bytes(piece));
    }
    if (!bytes.empty() && state_ == State::open) decrypt(bytes, other);
  }

  // Also after what broke the connection: an answer may have been under way.
  void say(std::size_t size) {
    if (!met_ || said_end_ || size == 0) return;
    const std::string text(size, static_cast<char>('a' + said_.size() % 26));
    if (tls_.encrypt(as_bytes(text))) said_ += text;
  }
  void end() {
    if (!met_) return;
    said_end_ = true;
    tls_.end();
  }

  [[nodiscard]] std::string& output() { return tls_.output(); }
  // Its handshake has succeeded.
  [[nodiscard]] bool met() const { return met_; }

 private:
  enum class State { shaking, open, over };
  // An answer to any record: a whole flight with a list of certificates, or an alert.
  static constexpr std::size_t kMostOutput = 8 << 10;

  void shake(std::span<const std::byte> input) {
    const std::size_t before = output().size();
    const TlsStream::Shake result = tls_.shake(input);
    check(output().size() - before < kMostOutput, "an answer in a handshake is bounded");
    if (result == TlsStream::Shake::wants_input) return;
    met_ = result == TlsStream::Shake::done;
    state_ = met_ ? State::open : State::over;
    if (met_) return;
    const bool printable =
        std::ranges::all_of(tls_.why(), [](char one) { return one >= ' ' && one < 0x7f; });
    check(!tls_.why().empty() && printable, "why it failed is one line");
  }

  void decrypt(std::string_view bytes, const Side& other) {
    std::vector<std::byte> room(bytes.size() + kTlsRecord);
    const std::size_t before = output().size();
    const TlsStream::Decrypted got = tls_.decrypt(as_bytes(bytes), room);
    check(output().size() - before < kMostOutput, "an answer to ciphertext is bounded");
    heard_.append(reinterpret_cast<const char*>(room.data()), got.bytes);
    check(other.said_.starts_with(heard_), "what is heard was said, in order");
    check(!got.ended || (other.said_end_ && heard_ == other.said_), "only the other side ends it");
    if (got.ended || got.broken) state_ = State::over;
  }

  TlsStream tls_;
  State state_ = State::shaking;
  std::string header_;
  std::size_t body_left_ = 0;
  bool met_ = false;
  bool said_end_ = false;
  std::string said_;
  std::string heard_;
};

class Connection {
 public:
  explicit Connection(const Meeting& meeting)
      : trusted_(meeting.trusted),
        sides_{Side(meeting.accepts, TlsStream::Role::accept),
               Side(meeting.connects, TlsStream::Role::connect)} {}

  [[nodiscard]] Side& side(std::size_t which) { return sides_[which]; }
  // What is on its way to this side.
  [[nodiscard]] std::string& wire(std::size_t which) {
    std::string& wire = wires_[which];
    std::string& output = sides_[1 - which].output();
    const std::size_t room = kMostOnWire - std::min(kMostOnWire, wire.size());
    wire += output.substr(0, room);
    output.clear();
    return wire;
  }
  void deliver(std::size_t which, std::size_t most) {
    std::string& from = wire(which);
    const std::string piece = from.substr(0, most);
    from.erase(0, piece.size());
    sides_[which].hear(piece, sides_[1 - which]);
    check(trusted_ || !sides_[0].met(), "a port accepts nobody without the key to it");
    check(!sides_[0].met() || sides_[1].met(), "a port has met who dialed it, and nobody else");
  }
  void deliver_all() {
    for (int round = 0; round < 3; ++round)
      for (std::size_t which = 0; which < 2; ++which) deliver(which, kMostOnWire);
  }

 private:
  static constexpr std::size_t kMostOnWire = 60 << 10;  // as much as Channel reads at once

  bool trusted_;
  std::array<Side, 2> sides_;
  std::array<std::string, 2> wires_;
};

void read_secret_file(std::string_view text) {
  const auto secrets = parse_cluster_secrets(text);
  if (!secrets) return;
  check(secrets->size() == 1 || secrets->size() == 2, "there are one or two secrets");
  std::string again;
  for (const ClusterSecret& secret : *secrets) again += in_hex(secret) + '\n';
  check(parse_cluster_secrets(again) == secrets, "what was read can be written");
}

enum Kind : std::uint8_t {
  dial,         // which meeting, whether its handshake is left alone
  pass,         // all that is on its way
  some,         // to whom, how many bytes
  flip,         // to whom, where, which bits; and so on
  cut,          // to whom, where, how many
  repeat,       // to whom, where, how many: once more, at the end
  raw,          // to whom, where, bytes
  record,       // to whom, its type, its body: under a right header, in front
  say,          // who, how many bytes
  end,          // who
  secret_file,  // a text
  kKinds
};

// What the stranger does to the bytes on their way to one side.
void attack(std::uint8_t kind, Bytes bytes, std::string& wire) {
  const auto place = [&] { return bytes.number<std::uint16_t>() % (wire.size() + 1); };
  switch (kind) {
    case flip:
      while (!bytes.empty() && !wire.empty()) {
        const std::size_t at = place() % wire.size();
        wire[at] = static_cast<char>(wire[at] ^ bytes.byte());
      }
      break;
    case cut: {
      const std::size_t at = place();
      wire.erase(at, bytes.number<std::uint16_t>());
      break;
    }
    case repeat: {
      const std::size_t at = place();
      wire += wire.substr(at, bytes.number<std::uint16_t>());
      break;
    }
    case raw: {
      const std::size_t at = place();
      wire.insert(at, bytes.rest());
      break;
    }
    case record: {
      std::string one{static_cast<char>(bytes.byte()), 3, 3};
      const std::string_view body = bytes.rest();
      one += static_cast<char>(body.size() >> 8);
      one += static_cast<char>(body.size() & 0xff);
      wire.insert(0, one.append(body));
      break;
    }
  }
}

}  // namespace
}  // namespace quipu::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quipu::fuzz;
  auto connection = std::make_unique<Connection>(meetings().front());
  for (const Chunk& chunk : split({reinterpret_cast<const char*>(data), size})) {
    Bytes bytes(chunk.bytes);
    const auto kind = static_cast<std::uint8_t>(chunk.kind % kKinds);
    switch (kind) {
      case dial: {
        const Meeting& meeting = meetings()[bytes.below(meetings().size())];
        connection = std::make_unique<Connection>(meeting);
        if (!bytes.flag()) break;
        connection->deliver_all();
        check(connection->side(0).met() == meeting.trusted, "who trust each other meet");
        break;
      }
      case pass:
        connection->deliver_all();
        break;
      case some: {
        const std::size_t to = bytes.below(2);
        connection->deliver(to, bytes.number<std::uint16_t>());
        break;
      }
      case say: {
        const std::size_t who = bytes.below(2);
        connection->side(who).say(bytes.number<std::uint16_t>() % (quipu::kTlsPlaintext + 1));
        break;
      }
      case end:
        connection->side(bytes.below(2)).end();
        break;
      case secret_file:
        read_secret_file(chunk.bytes);
        break;
      default:
        attack(kind, bytes, connection->wire(bytes.below(2)));
    }
  }
  connection->deliver_all();
  return 0;
}
