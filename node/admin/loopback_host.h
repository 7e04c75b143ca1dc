// loopback_host.h: whether a Host header names this machine by a loopback name or address.
//
// Against DNS rebinding: a web page may give its own name the address 127.0.0.1, and then read in
// the operator's browser what this machine tells only itself. The browser still sends that name.
// Pure.
#pragma once

#include <string_view>

namespace quipu {

// `host` may have a port. "127.0.0.1", "[::1]:7402" and "localhost" do; "127.0.0.1.example.com" and
// "" do not.
[[nodiscard]] bool names_loopback(std::string_view host);

}  // namespace quipu
