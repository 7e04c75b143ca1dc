#include "node/tls/tls_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "node/base/time_text.h"
#include "node/tls/hashes.h"
#include "node/tls/pem_file.h"

namespace quipu {
namespace {

constexpr std::size_t kMostSecrets = 2;
constexpr std::chrono::days kSoon{14};  // as the alert's

Status refuse(std::string why) { return {Code::invalid_argument, std::move(why)}; }

// Adds which file it is about to the error of a TlsContext.
Status about(const Status& why, const std::string& files) {
  return {why.code(), files + ": " + why.detail()};
}

// Takes down until when all certificates of the file are valid. An error if one is not valid now.
Status add_expiry(const char* name, const std::string& path, const std::string& text, Wall now,
                  TlsMaterial& made) {
  const Validity validity = validity_of(text);
  const auto today = std::chrono::floor<std::chrono::seconds>(
      std::chrono::system_clock::time_point(now.time_since_epoch()));
  if (today > validity.until) return refuse(path + " has expired: issue a new certificate");
  if (today < validity.from)
    return refuse(path + " is not valid yet: check this machine's clock, or issue a new one");
  made.expiries.push_back({name, validity.until});
  // Some live for an hour, and are issued anew each few minutes.
  if (validity.until - today < std::min<std::chrono::seconds>(kSoon, validity.life / 3))
    made.warnings.push_back(path + " expires on " + to_text(validity.until) + ": issue a new one");
  return {};
}

Result<std::string> read_if_set(const std::string& path) {
  return path.empty() ? Result<std::string>(std::string()) : read_pem_file(path);
}

Result<std::shared_ptr<const TlsContext>> read_secrets(const std::string& path) {
  const Result<std::string> text = read_pem_file(path);
  if (!text.ok()) return text.status();
  const auto secrets = parse_cluster_secrets(*text);
  if (secrets) return TlsContext::for_members(*secrets);
  return refuse(path +
                " must have one or two lines of 64 hexadecimal digits: quipu secret makes "
                "one");
}

// No refusal: Kubernetes mounts secrets that all may read, and a member that the others refuse
// still serves clients.
void add_warnings(const TlsPaths& paths, TlsMaterial& made) {
  for (const std::string* const path : {&paths.key, &paths.cluster_secret}) {
    struct stat file {};
    if (!path->empty() && ::stat(path->c_str(), &file) == 0 && (file.st_mode & S_IRWXO) != 0)
      made.warnings.push_back(*path +
                              " is a secret, and others on this machine may read it: chmod o= it");
  }
  if (!paths.peer_ca.empty() && !paths.peer_host.empty() &&
      !is_for_host(made.own.certificate, paths.peer_host))
    made.warnings.push_back(paths.certificate + " does not name " + paths.peer_host +
                            ", the host of this member's peer address, so other members refuse it: "
                            "issue one that does");
}

}  // namespace

std::optional<std::vector<ClusterSecret>> parse_cluster_secrets(std::string_view text) {
  std::vector<ClusterSecret> secrets;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    ClusterSecret secret{};
    if (!from_hex(line, secret) || secrets.size() == kMostSecrets) return std::nullopt;
    secrets.push_back(secret);
  }
  if (secrets.empty()) return std::nullopt;
  return secrets;
}

Result<TlsFiles::Material> TlsFiles::read(const TlsPaths& paths, Wall now) {
  TlsMaterial made;
  if (!paths.certificate.empty()) {
    auto certificate = read_pem_file(paths.certificate);
    if (!certificate.ok()) return certificate.status();
    auto key = read_pem_file(paths.key);
    if (!key.ok()) return key.status();
    made.own = {std::move(*certificate), std::move(*key)};
    const auto client_ca = read_if_set(paths.client_ca);
    if (!client_ca.ok()) return client_ca.status();
    auto clients = TlsContext::for_port(made.own, *client_ca);
    if (!clients.ok())
      return about(clients.status(), paths.certificate + ", " + paths.key +
                                         (client_ca->empty() ? "" : ", " + paths.client_ca));
    made.clients = std::move(*clients);
    Status valid = add_expiry("certificate", paths.certificate, made.own.certificate, now, made);
    if (valid.ok() && !client_ca->empty())
      valid = add_expiry("client_ca", paths.client_ca, *client_ca, now, made);
    if (!valid.ok()) return valid;
  }
  if (!paths.peer_ca.empty()) {
    const auto ca = read_pem_file(paths.peer_ca);
    if (!ca.ok()) return ca.status();
    auto members = TlsContext::for_members(made.own, *ca);
    if (!members.ok()) return about(members.status(), paths.peer_ca);
    made.members = std::move(*members);
    if (Status valid = add_expiry("peer_ca", paths.peer_ca, *ca, now, made); !valid.ok())
      return valid;
  } else if (!paths.cluster_secret.empty()) {
    auto members = read_secrets(paths.cluster_secret);
    if (!members.ok()) return members.status();
    made.members = std::move(*members);
  }
  add_warnings(paths, made);
  return Material(std::make_shared<const TlsMaterial>(std::move(made)));
}

Result<std::unique_ptr<TlsFiles>> TlsFiles::open(TlsPaths paths, const Log& log) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(std::move(paths), log));
  const Stamps stamps = files->stamps();
  auto first = read(files->paths_, wall_now());
  if (!first.ok())
    return Status(Code::invalid_argument, first.status().detail());  // now it must be right
  files->read_ = stamps;
  files->read_at_ = wall_now();
  files->material_ = std::move(*first);
  files->warn(*files->material_);
  return files;
}

TlsFiles::TlsFiles(TlsPaths paths, const Log& log) : paths_(std::move(paths)), log_(log) {}

void TlsFiles::warn(const TlsMaterial& made) const {
  for (const std::string& warning : made.warnings)
    log_.warning("a TLS file should be changed", {{"audit", "true"}, {"why", warning}});
}

TlsFiles::Stamps TlsFiles::stamps() const {
  return {stamp_of(paths_.certificate), stamp_of(paths_.key), stamp_of(paths_.client_ca),
          stamp_of(paths_.peer_ca), stamp_of(paths_.cluster_secret)};
}

TlsFiles::Material TlsFiles::material() const {
  const std::lock_guard lock(mutex_);
  return material_;
}

// The stamps are taken first: a change meanwhile is seen at the next look. They count as read only
// if all is right: what was wrong may be mended without a change of them, such as by chown.
Status TlsFiles::take(Instant now, When when) {
  const std::lock_guard one_at_a_time(reading_);
  const Stamps found = stamps();
  if (when == When::changed && found == read_) {
    mismatch_since_.reset();
    refusal_.clear();
    return {};
  }
  const LogField audit{"audit", "true"};
  auto made = read(paths_, wall_now());
  if (made.status().code() != Code::unavailable) {
    mismatch_since_.reset();
  } else if (now - mismatch_since_.value_or(now) < kPatience) {  // perhaps one of two is new
    mismatch_since_ = mismatch_since_.value_or(now);
    return made.status();
  }
  if (!made.ok()) {
    if (when == When::changed && refusal_ == made.status().detail()) return made.status();
    refusal_ = made.status().detail();
    ++refused_;
    log_.error("the TLS files were refused, and everything stays as it is",
               {audit, {"why", refusal_}});
    return made.status();
  }
  refusal_.clear();
  read_ = found;
  read_at_ = wall_now();
  {
    const std::lock_guard lock(mutex_);
    material_ = *made;
  }
  log_.info("TLS files were read", {audit});
  warn(**made);
  if (on_change_) on_change_(*made);
  return {};
}

}  // namespace quipu
