#include "node/tls/tls_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "node/tls/hashes.h"
#include "node/tls/pem_file.h"

namespace quipu {
namespace {

constexpr std::size_t kMostSecrets = 2;

Status refuse(std::string why) { return {Code::invalid_argument, std::move(why)}; }

// Adds which file it is about to the error of a TlsContext.
Status about(const Status& why, const std::string& files) {
  return {why.code(), files + ": " + why.detail()};
}

// Until when all certificates of the file are valid. An error if one is not valid now.
Result<TlsMaterial::Expiry> expiry_of(const char* name, const std::string& path,
                                      const std::string& text, Wall now) {
  const Validity validity = validity_of(text);
  const auto today = std::chrono::floor<std::chrono::seconds>(
      std::chrono::system_clock::time_point(now.time_since_epoch()));
  if (today > validity.until) return refuse(path + " has expired: issue a new certificate");
  if (today < validity.from)
    return refuse(path + " is not valid yet: check this machine's clock, or issue a new one");
  return TlsMaterial::Expiry{name, validity.until};
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

// No refusal: Kubernetes mounts secrets like that.
void warn_if_readable(const std::string& path, const Log& log) {
  struct stat file {};
  if (!path.empty() && ::stat(path.c_str(), &file) == 0 && (file.st_mode & S_IRWXO) != 0)
    log.warning("others on this machine may read a secret file: chmod o= it",
                {{"audit", "true"}, {"file", path}});
}

// No refusal: the other members refuse it, and clients may still be served.
void warn_of_wrong_name(const TlsPaths& paths, const TlsMaterial& made, const Log& log) {
  if (paths.peer_ca.empty() || paths.peer_host.empty() ||
      is_for_host(made.own.certificate, paths.peer_host))
    return;
  log.warning("other members refuse this certificate: issue one for the host of the peer address",
              {{"audit", "true"}, {"file", paths.certificate}, {"host", paths.peer_host}});
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
    const auto expiry = expiry_of("certificate", paths.certificate, made.own.certificate, now);
    if (!expiry.ok()) return expiry.status();
    made.expiries.push_back(*expiry);
    if (!client_ca->empty()) {
      const auto of_ca = expiry_of("client_ca", paths.client_ca, *client_ca, now);
      if (!of_ca.ok()) return of_ca.status();
      made.expiries.push_back(*of_ca);
    }
  }
  if (!paths.peer_ca.empty()) {
    const auto ca = read_pem_file(paths.peer_ca);
    if (!ca.ok()) return ca.status();
    auto members = TlsContext::for_members(made.own, *ca);
    if (!members.ok()) return about(members.status(), paths.peer_ca);
    made.members = std::move(*members);
    const auto expiry = expiry_of("peer_ca", paths.peer_ca, *ca, now);
    if (!expiry.ok()) return expiry.status();
    made.expiries.push_back(*expiry);
  } else if (!paths.cluster_secret.empty()) {
    auto members = read_secrets(paths.cluster_secret);
    if (!members.ok()) return members.status();
    made.members = std::move(*members);
  }
  return Material(std::make_shared<const TlsMaterial>(std::move(made)));
}

Result<std::unique_ptr<TlsFiles>> TlsFiles::open(TlsPaths paths, const Log& log) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(std::move(paths), log));
  const Stamps stamps = files->stamps();
  auto first = read(files->paths_, wall_now());
  if (!first.ok())
    return Status(Code::invalid_argument, first.status().detail());  // now it must be right
  files->read_ = stamps;
  files->material_ = std::move(*first);
  warn_if_readable(files->paths_.key, log);
  warn_if_readable(files->paths_.cluster_secret, log);
  warn_of_wrong_name(files->paths_, *files->material_, log);
  return files;
}

TlsFiles::TlsFiles(TlsPaths paths, const Log& log) : paths_(std::move(paths)), log_(log) {}

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
  {
    const std::lock_guard lock(mutex_);
    material_ = *made;
  }
  log_.info("TLS files were read", {audit});
  warn_of_wrong_name(paths_, **made, log_);
  if (on_change_) on_change_(*made);
  return {};
}

}  // namespace quipu
