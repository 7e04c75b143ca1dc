#include "node/tls/client_tls_files.h"

#include <utility>

#include "node/tls/pem_file.h"

namespace quipu {

TlsContext::Made read_client_tls(const ClientTls& tls) {
  const auto refuse = [](std::string why) {
    return Status(Code::invalid_argument, std::move(why));
  };
  if (tls.certificate.empty() != tls.key.empty())
    return refuse(tls.key.empty() ? "a client's certificate needs its key: name both"
                                  : "a client's key needs its certificate: name both");
  if (tls.ca.empty() && tls.certificate.empty()) return std::shared_ptr<const TlsContext>();
  if (tls.ca.empty()) return refuse("a client's certificate needs a ca: name a file, or system");
  std::string ca;
  KeyPair own;
  for (const auto& [path, text] :
       {std::pair{&tls.ca, &ca}, {&tls.certificate, &own.certificate}, {&tls.key, &own.key}}) {
    if (path->empty() || (path == &tls.ca && *path == "system")) continue;
    Result<std::string> read = read_pem_file(*path);
    if (!read.ok()) return read.status();
    *text = std::move(*read);
  }
  TlsContext::Made made = TlsContext::for_client(ca, own);
  if (made.ok()) return made;
  return refuse(made.status().detail() + ": see " + tls.ca +
                (tls.certificate.empty() ? "" : ", " + tls.certificate + " and " + tls.key));
}

}  // namespace quipu
