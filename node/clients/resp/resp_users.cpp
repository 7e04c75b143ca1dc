// Commands about the user of a connection: AUTH, ACL.
#include <array>

#include "node/clients/resp/resp_command.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

void auth(RespConnection& connection, Words words) {
  if (words.size() > 3) return connection.error(kSyntaxError);
  if (words.size() == 2 && !connection.has_users_file()) {
    return connection.error(
        "ERR AUTH <password> called without any password configured for the default user. Are "
        "you sure your configuration is correct?");
  }
  const std::string_view user = words.size() == 2 ? kDefaultUser : words[1];
  if (authenticate(connection, user, words.back())) connection.ok();
}

void acl_whoami(RespConnection& connection, Words) {
  connection.writer().bulk(connection.permit().user());
}

constexpr std::string_view kFlags = "noscript loading stale";

constexpr std::array kAcl{
    help_row("server", "6.0.0"),
    RespCommand{"whoami",
                2,
                acl_whoami,
                kAuthenticated,
                kFlags,
                {},
                "@slow",
                "server",
                "6.0.0",
                "Tells the user of this connection."},
};

constexpr std::array kUserCommands{
    RespCommand{"acl",
                -2,
                nullptr,
                kAuthenticated,
                "",
                {},
                "@slow",
                "server",
                "6.0.0",
                "Commands about users, who are in the node's users file.",
                {},
                kAcl},
    RespCommand{"auth",
                -2,
                auth,
                kNoRight,
                "noscript loading stale fast no_auth allow_busy",
                {},
                "@fast @connection",
                "connection",
                "1.0.0",
                "Authenticates the connection as a user of the node's users file.",
                "[username] password"},
};

}  // namespace

// Without a users file there is only the default user, and any secret will do.
bool authenticate(RespConnection& connection, std::string_view user, std::string_view secret) {
  if (connection.has_users_file()) return connection.log_in(user, secret);
  if (user == kDefaultUser) return true;
  connection.error(kWrongSecret);
  return false;
}

std::span<const RespCommand> user_commands() { return kUserCommands; }

}  // namespace quipu
