// tls_files.h: the files that protect a node's ports, and what is made of them.
//
//   certificate, key, client_ca, peer_ca ┐          ┌─▶ for the client and admin ports
//   secret_file ─────────────────────────┴─ read ───┴─▶ for the links to members
//     └── one of them is wrong: logged and counted, and everything stays as it is
//
// A certificate and a key that do not match may be a replacement under way, since the files are
// written one after the other. It is logged only after kPatience.
//
// Any thread. The admin port of quipud has the same files by an object of its own.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/base/clock.h"
#include "node/base/file_stamp.h"
#include "node/base/log.h"
#include "node/tls/tls_context.h"
#include "node/tls/tls_paths.h"

namespace quipu {

// Immutable.
struct TlsMaterial {
  KeyPair own;
  std::shared_ptr<const TlsContext> clients;  // null: the client port has no TLS
  std::shared_ptr<const TlsContext> members;  // null: links are not protected
  struct Expiry {
    const char* file;  // "certificate", "client_ca", "peer_ca"
    std::chrono::sys_seconds at;
  };
  std::vector<Expiry> expiries;
  // What to change although all can be used, each with its file.
  std::vector<std::string> warnings;
};

// The secrets in the text of a secret file: one or two lines of 64 hexadecimal digits. Nothing: it
// is something else.
[[nodiscard]] std::optional<std::vector<ClusterSecret>> parse_cluster_secrets(
    std::string_view text);

class TlsFiles {
 public:
  static constexpr std::chrono::seconds kPatience{60};
  using Material = std::shared_ptr<const TlsMaterial>;
  using OnChange = std::function<void(const Material&)>;

  // invalid_argument, or `unavailable` if the certificate and the key do not match: the
  // text names the file and what to do.
  [[nodiscard]] static Result<Material> read(const TlsPaths& paths, Wall now);

  // The error is that of read().
  [[nodiscard]] static Result<std::unique_ptr<TlsFiles>> open(TlsPaths paths, const Log& log);

  // Called with each material but the first one, on the thread that has read it. Before the first
  // look().
  void on_change(OnChange on_change) { on_change_ = std::move(on_change); }
  [[nodiscard]] Material material() const;
  // Reads them again if one of them has changed, or was wrong.
  void look(Instant now) { (void)take(now, When::changed); }
  // Whatever their stamps say.
  Status read_again(Instant now) { return take(now, When::always); }
  // How often they were refused.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  // When they were read last and taken.
  [[nodiscard]] Wall read_at() const { return read_at_; }

 private:
  using Stamps = std::array<FileStamp, 5>;

  TlsFiles(TlsPaths paths, const Log& log);
  [[nodiscard]] Stamps stamps() const;
  void warn(const TlsMaterial& made) const;
  enum class When { changed, always };
  Status take(Instant now, When when);

  const TlsPaths paths_;
  const Log log_;
  OnChange on_change_;
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<Wall> read_at_{Wall{}};
  std::mutex reading_;   // one at a time, with its call of on_change_
  Stamps read_;          // at the last reading that was right
  std::string refusal_;  // why the last one was not; empty: it was
  std::optional<Instant> mismatch_since_;

  mutable std::mutex mutex_;
  Material material_;
};

}  // namespace quipu
