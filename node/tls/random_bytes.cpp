#include "node/tls/random_bytes.h"

#include <openssl/rand.h>

#include "protocol/check.h"

namespace quipu {

RandomBytes random_bytes() {
  RandomBytes bytes{};
  const bool drawn = RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1;
  QUIPU_CHECK(drawn, "the system gives randomness");
  return bytes;
}

}  // namespace quipu
