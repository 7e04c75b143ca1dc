// tls_stream.h: the bytes of one TLS connection, without I/O.
//
//   from the socket ──ciphertext──▶ decrypt() ──▶ plaintext
//   to the socket ◀── output() ◀── encrypt() ◀── plaintext
//
// It reads where the caller has put the bytes, and takes all of them: OpenSSL itself keeps an
// incomplete record. So nothing waits here that a level-triggered set of sockets could not see.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "node/tls/tls_context.h"

namespace quipu {

// The first byte of a connection. No request of ours begins with it.
inline constexpr std::uint8_t kTlsFirstByte = 0x16;
// The most plaintext of a record, and the longest record with all around it.
inline constexpr std::size_t kTlsPlaintext = std::size_t{16} << 10;
inline constexpr std::size_t kTlsRecord = kTlsPlaintext + 256 + 5;

class TlsStream {
 public:
  enum class Role { accept, connect };
  // `host`: the other side's certificate must be for it, if names matter, when connecting.
  TlsStream(std::shared_ptr<const TlsContext> context, Role role, const std::string& host);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  enum class Shake { wants_input, done, failed };
  // The next step of the handshake. `input`: the next bytes of the other side, no more than one
  // record, all of which are taken. A failure may have left an alert in output().
  [[nodiscard]] Shake shake(std::span<const std::byte> input);
  // After a failure: why, for people.
  [[nodiscard]] const std::string& why() const { return why_; }
  // Whether the other side's certificate is for this host. REQUIRES: done, and names matter
  [[nodiscard]] bool other_side_is(const std::string& host) const;
  // Whether a newer context would make this connection with another cluster secret. The side that
  // dials notices that before the old secret is gone.
  [[nodiscard]] bool outdated(const TlsContext& newer) const {
    if (secret_.empty()) return false;
    return role_ == Role::connect ? !newer.dials_with(secret_) : !newer.has_secret(secret_);
  }
  // A part of a record waits for the rest.
  [[nodiscard]] bool incomplete() const;

  struct Decrypted {
    std::size_t bytes = 0;
    bool ended = false;   // the other side has said that nothing follows
    bool broken = false;  // changed on the way, or never TLS
  };
  // Takes all of `ciphertext`. REQUIRES: the handshake is done; room for it and a record more
  [[nodiscard]] Decrypted decrypt(std::span<const std::byte> ciphertext, std::span<std::byte> room);
  // Takes all of `plaintext`, at most kTlsPlaintext bytes. False: the connection is broken.
  [[nodiscard]] bool encrypt(std::span<const std::byte> plaintext);
  // Says that nothing follows. Not for a connection that is to be reset.
  void end();

  // Ciphertext that waits to be sent. The caller removes from the front what it has sent.
  [[nodiscard]] std::string& output() { return output_; }

 private:
  struct Bytes;  // the BIO
  [[nodiscard]] bool fail();
  static void on_message(int sent, int version, int type, const void* message, std::size_t size,
                         SSL* ssl, void* stream);

  const std::shared_ptr<const TlsContext> context_;
  SSL* const ssl_;
  std::span<const std::byte> input_;
  std::string output_;
  std::string why_;
  const Role role_;
  std::string secret_;   // the identity of the cluster secret; empty: there is none
  int key_updates_ = 0;  // one after the other
};

}  // namespace quipu
