#include "quipu/status.h"

#include <array>

namespace quipu {
namespace {

constexpr CodeInfo kUnknownCode{Code::in_doubt, "unknown_code", Outcome::unknown,
                                "upgrade this client: the server is newer"};

constexpr std::array kCodes{
    CodeInfo{Code::ok, "ok", Outcome::applied, ""},
    CodeInfo{Code::invalid_argument, "invalid_argument", Outcome::not_applied,
             "correct the request"},
    CodeInfo{
        Code::out_of_range, "out_of_range", Outcome::not_applied,
        "the sum would leave the signed 64-bit range: use a smaller amount or reset the counter"},
    CodeInfo{Code::no_quorum, "no_quorum", Outcome::not_applied,
             "a majority of the owners did not answer: retry, read with --fresh, or add at a lower "
             "--ack"},
    CodeInfo{Code::in_doubt, "in_doubt", Outcome::unknown,
             "it may still be counted: do not repeat it without its token"},
    CodeInfo{Code::token_reused, "token_reused", Outcome::not_applied,
             "a token names one change: take a new number for another one"},
    CodeInfo{Code::token_expired, "token_expired", Outcome::unknown,
             "the executor no longer remembers this token: compare totals before adding again"},
    CodeInfo{Code::executor_gone, "executor_gone", Outcome::unknown,
             "the store that could tell is gone: compare totals before adding again"},
    CodeInfo{Code::session_window, "session_window", Outcome::not_applied, "open another session"},
    CodeInfo{Code::overloaded, "overloaded", Outcome::not_applied, "slow down and retry"},
    CodeInfo{Code::unavailable, "unavailable", Outcome::not_applied, "retry, or use another node"},
    CodeInfo{Code::storage_full, "storage_full", Outcome::not_applied,
             "free disk space on the node; reads go on"},
    CodeInfo{Code::storage_failed, "storage_failed", Outcome::unknown,
             "the node stopped after a failed sync: check its disk, then start it again"},
    CodeInfo{Code::stale_config, "stale_config", Outcome::not_applied,
             "fetch the newer config and ask again"},
    CodeInfo{Code::would_deadlock, "would_deadlock", Outcome::not_applied,
             "a callback must not block: use the callback form"},
    CodeInfo{Code::protocol_error, "protocol_error", Outcome::unknown,
             "the connection was closed: check that both sides speak this version"},
    CodeInfo{Code::cannot_start, "cannot_start", Outcome::not_applied,
             "mend what the message names, then start again"},
    CodeInfo{Code::corrupt, "corrupt", Outcome::not_applied,
             "start the node with --rebuild to fill a new store from its peers"},
    CodeInfo{Code::undefined_namespace, "undefined_namespace", Outcome::not_applied,
             "define it, or use the key of another one"},
    CodeInfo{Code::wrong_type, "wrong_type", Outcome::not_applied,
             "use the commands of its kind, or another key"},
    CodeInfo{Code::unauthenticated, "unauthenticated", Outcome::not_applied,
             "give the name and the secret of a user of this cluster"},
    CodeInfo{Code::not_permitted, "not_permitted", Outcome::not_applied,
             "use another user, or have an operator add the permission in the users file"},
};

}  // namespace

const CodeInfo& describe(Code code) {
  for (const CodeInfo& info : kCodes) {
    if (info.code == code) return info;
  }
  return kUnknownCode;
}

std::string Status::message() const {
  const CodeInfo& info = describe(code_);
  std::string text(info.name);
  if (!detail_.empty()) text.append(": ").append(detail_);
  if (!info.advice.empty()) text.append(" (").append(info.advice).append(")");
  return text;
}

}  // namespace quipu
