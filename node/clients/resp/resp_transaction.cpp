#include "node/clients/resp/resp_transaction.h"

#include <array>
#include <memory>

#include "node/clients/resp/resp_decisions.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

void multi(RespConnection& connection, Words) {
  if (connection.transaction() != nullptr)
    return connection.error("ERR MULTI calls can not be nested");
  connection.begin_transaction();
  connection.ok();
}

void discard(RespConnection& connection, Words) {
  if (!connection.take_transaction()) return connection.error("ERR DISCARD without MULTI");
  connection.ok();
}

// A client that ignores the error must not execute the transaction that WATCH was to guard.
void watch(RespConnection& connection, Words) {
  if (connection.transaction() != nullptr)
    return connection.error("ERR WATCH inside MULTI is not allowed");
  connection.set_watch_refused(true);
  connection.error(
      "ERR WATCH is not supported, and the next EXEC is refused: use SET NX, INCREX or a script");
}

void unwatch(RespConnection& connection, Words) {
  connection.set_watch_refused(false);
  connection.ok();
}

// As calls of the asked node, wherever they are executed.
void count_calls(RespConnection& connection, const RespConnection::Commands& commands) {
  RespServer& server = connection.server();
  for (const std::vector<std::string>& command : commands)
    server.count_calls(server.commands[number_of(*find_command(command[0]), nullptr)], 1);
  server.figures.commands_processed += commands.size();
}

void exec(RespConnection& connection, Words) {
  const std::unique_ptr<RespTransaction> transaction = connection.take_transaction();
  if (!transaction) return connection.error("ERR EXEC without MULTI");
  if (transaction->failed())
    return connection.error("EXECABORT Transaction discarded because of previous errors.");
  if (transaction->commands().empty()) return connection.writer().array(0);

  PackedCommands packed(PackedForm::transaction, connection.version());
  bool fits = true;
  for (const std::vector<std::string>& command : transaction->commands()) {
    const std::vector<std::string_view> words(command.begin(), command.end());
    fits = fits && packed.add(connection.with_full_names(words));
  }
  std::optional<Together> together;
  if (fits) together = quipu::together(connection, connection.keep(packed.take()));
  if (!together) {
    connection.writer().array(transaction->commands().size());
    connection.execute_apart(transaction->take());
    return connection.go_on_apart();
  }
  if (together->op.ack != Ack::quorum &&
      connection.server().context.decides(together->op.key, together->keys)) {
    count_calls(connection, transaction->commands());
    return ask_decision(connection, together->op);
  }
  connection.run([&connection, commands = transaction->take()](const RespAnswer& answer,
                                                               RespWriter& to) mutable {
    if (answer.done->code == Code::invalid_argument) {
      to.array(commands.size());
      connection.execute_apart(std::move(commands));
    } else {
      count_calls(connection, commands);
      write_decided(connection, *answer.done, to);
    }
    return true;
  });
  connection.again({together->op});
  connection.go_on_apart();
}

constexpr std::string_view kCategories = "@fast @transaction";

constexpr std::array kTransactionCommands{
    RespCommand{"multi",
                1,
                multi,
                kAuthenticated,
                "noscript loading stale fast allow_busy",
                {},
                kCategories,
                "transactions",
                "1.2.0",
                "Starts a transaction.",
                ""},
    RespCommand{"exec",
                1,
                exec,
                kAuthenticated,
                "noscript loading stale skip_slowlog",
                {},
                "@slow @transaction",
                "transactions",
                "1.2.0",
                "Executes the commands of a transaction.",
                ""},
    RespCommand{"discard",
                1,
                discard,
                kAuthenticated,
                "noscript loading stale fast allow_busy",
                {},
                kCategories,
                "transactions",
                "2.0.0",
                "Discards a transaction.",
                ""},
    RespCommand{"watch",
                -2,
                watch,
                kAuthenticated,
                "noscript loading stale fast allow_busy",
                {1, -1, 1, "RO"},
                kCategories,
                "transactions",
                "2.2.0",
                "Is refused, and so is the next transaction.",
                "key..."},
    RespCommand{"unwatch",
                1,
                unwatch,
                kAuthenticated,
                "noscript loading stale fast allow_busy",
                {},
                kCategories,
                "transactions",
                "2.2.0",
                "Allows transactions again after a refused WATCH.",
                ""},
};

}  // namespace

bool RespTransaction::queue(std::span<const std::string_view> words) {
  std::size_t bytes = 0;
  for (const std::string_view word : words) bytes += word.size() + sizeof(std::string);
  if (commands_.size() == kMaxCommands || bytes > kMaxBytes - bytes_) return false;
  commands_.emplace_back(words.begin(), words.end());
  bytes_ += bytes;
  return true;
}

std::span<const RespCommand> transaction_commands() { return kTransactionCommands; }

}  // namespace quipu
