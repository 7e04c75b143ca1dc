// client_tls_files.h: reads what quipu::ClientTls names. Any thread.
#pragma once

#include "node/tls/tls_context.h"
#include "quipu/client_tls.h"

namespace quipu {

// Null: plain text. invalid_argument: names the file, what is wrong, and what to do.
[[nodiscard]] TlsContext::Made read_client_tls(const ClientTls& tls);

}  // namespace quipu
