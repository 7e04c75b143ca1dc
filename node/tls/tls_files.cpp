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

Status refuse(std::string why) { return {Code::invalid_argument, std::move(why)}; }

// Adds which file it is about to the error of a TlsContext.
Status about(const Status& why, const std::string& files) {
  return {why.code(), files + ": " + why.detail()};
}

Status check_dates(const char* name, const std::string& path, const std::string& text, Wall now,
                   TlsMaterial& to) {
  const Validity validity = validity_of(text);
  const auto today = std::chrono::floor<std::chrono::seconds>(
      std::chrono::system_clock::time_point(now.time_since_epoch()));
  if (today > validity.until) return refuse(path + " has expired: issue a new certificate");
  if (today < validity.from)
    return refuse(path + " is not valid yet: check this machine's clock, or issue a new one");
  to.expiries.push_back({name, validity.until});
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
    Status dates = check_dates("certificate", paths.certificate, made.own.certificate, now, made);
    if (dates.ok() && !client_ca->empty())
      dates = check_dates("client_ca", paths.client_ca, *client_ca, now, made);
    if (!dates.ok()) return dates;
  }
  if (!paths.peer_ca.empty()) {
    const auto ca = read_pem_file(paths.peer_ca);
    if (!ca.ok()) return ca.status();
    auto members = TlsContext::for_members(made.own, *ca);
    if (!members.ok()) return about(members.status(), paths.peer_ca);
    made.members = std::move(*members);
    if (Status dates = check_dates("peer_ca", paths.peer_ca, *ca, now, made); !dates.ok())
      return dates;
  } else if (!paths.cluster_secret.empty()) {
    auto members = read_secrets(paths.cluster_secret);
    if (!members.ok()) return members.status();
    made.members = std::move(*members);
  }
  return Material(std::make_shared<const TlsMaterial>(std::move(made)));
}

Result<std::unique_ptr<TlsFiles>> TlsFiles::open(TlsPaths paths, const Log& log) {
  auto first = read(paths, wall_now());
  if (!first.ok())
    return Status(Code::invalid_argument, first.status().detail());  // now it must be right
  struct stat file {};
  constexpr mode_t kOthers = S_IRWXO;
  for (const std::string* const secret : {&paths.key, &paths.cluster_secret}) {
    // No refusal: Kubernetes mounts secrets like that.
    if (!secret->empty() && ::stat(secret->c_str(), &file) == 0 && (file.st_mode & kOthers) != 0)
      log.warning("others on this machine may read a secret file: chmod o= it",
                  {{"audit", "true"}, {"file", *secret}});
  }
  return std::unique_ptr<TlsFiles>(new TlsFiles(std::move(paths), log, std::move(*first)));
}

TlsFiles::TlsFiles(TlsPaths paths, const Log& log, Material first)
    : paths_(std::move(paths)), log_(log), read_(stamps()), material_(std::move(first)) {}

TlsFiles::Stamps TlsFiles::stamps() const {
  return {stamp_of(paths_.certificate), stamp_of(paths_.key), stamp_of(paths_.client_ca),
          stamp_of(paths_.peer_ca), stamp_of(paths_.cluster_secret)};
}

TlsFiles::Material TlsFiles::material() const {
  const std::lock_guard lock(mutex_);
  return material_;
}

// The stamps are taken first: a change meanwhile is seen at the next look.
Status TlsFiles::take(Instant now, bool asked) {
  const std::lock_guard one_at_a_time(reading_);
  const Stamps found = stamps();
  if (!asked && found == read_ && (!misfit_since_ || misfit_told_)) return {};
  read_ = found;
  const LogField audit{"audit", "true"};
  auto made = read(paths_, wall_now());
  const bool misfit = made.status().code() == Code::unavailable;
  if (!misfit) {
    misfit_since_.reset();
    misfit_told_ = false;
  } else if (!misfit_since_) {
    misfit_since_ = now;
  }
  if (misfit && (misfit_told_ || now - *misfit_since_ < kPatience)) return made.status();
  if (!made.ok()) {
    misfit_told_ = misfit;
    ++refused_;
    log_.error("the TLS files were refused, and everything stays as it is",
               {audit, {"why", made.status().detail()}});
    return made.status();
  }
  {
    const std::lock_guard lock(mutex_);
    material_ = *made;
  }
  log_.info("TLS files were read", {audit});
  if (on_change_) on_change_(*made);
  return {};
}

}  // namespace quipu
