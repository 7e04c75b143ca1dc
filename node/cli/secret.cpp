// quipu secret: makes a cluster secret, for quipud's cluster.secret_file.
#include <iostream>
#include <nlohmann/json.hpp>

#include "node/cli/commands.h"
#include "node/cli/output.h"
#include "node/tls/hashes.h"
#include "node/tls/random_bytes.h"

namespace quipu::cli {

int run(const Environment& environment, const SecretCommand&) {
  const std::string secret = in_hex(random_bytes());
  if (environment.json) {
    nlohmann::json json = document("secret", Status());
    json["secret"] = secret;
    print_json(json);
  } else {
    std::cout << secret << '\n';
  }
  return kOk;
}

}  // namespace quipu::cli
