// CLUSTER and similar commands: refused like by a Redis whose cluster mode is off. Without these
// replies, some clients ask again for ever.
#include <array>

#include "node/clients/resp/resp_command.h"

namespace quipu {
namespace {

void refuse(RespConnection& connection, RespConnection::Words) {
  connection.error("ERR This instance has cluster support disabled");
}

constexpr std::string_view kRefused = "Refused: a Quipu cluster is not a Redis cluster.";

constexpr RespCommand asks(std::string_view name, int arity, std::string_view syntax = {}) {
  return {name,    arity,     refuse,  kAuthenticated, "stale", {},
          "@slow", "cluster", "3.0.0", kRefused,       syntax};
}

constexpr RespCommand administers(std::string_view name, int arity, std::string_view syntax = {},
                                  std::string_view flags = "admin stale no_async_loading") {
  return {name,      arity,   refuse,   kAuthenticated, flags, {}, "@admin @slow @dangerous",
          "cluster", "3.0.0", kRefused, syntax};
}

constexpr std::array kCluster{
    administers("addslots", -3, "slot:integer..."),
    administers("addslotsrange", -4, "start-slot:integer end-slot:integer..."),
    administers("bumpepoch", 2),
    administers("count-failure-reports", 3, "node-id", "admin stale"),
    asks("countkeysinslot", 3, "slot:integer"),
    administers("delslots", -3, "slot:integer..."),
    administers("delslotsrange", -4, "start-slot:integer end-slot:integer..."),
    administers("failover", -2, "[FORCE|TAKEOVER]"),
    administers("flushslots", 2),
    administers("forget", 3, "node-id"),
    asks("getkeysinslot", 4, "slot:integer count:integer"),
    RespCommand{"help",
                2,
                refuse,
                kAuthenticated,
                "loading stale",
                {},
                "@slow",
                "cluster",
                "5.0.0",
                kRefused},
    asks("info", 2),
    asks("keyslot", 3, "key:string"),
    asks("links", 2),
    administers("meet", -4, "ip port:integer [cluster-bus-port:integer]"),
    asks("myid", 2),
    asks("myshardid", 2),
    asks("nodes", 2),
    administers("replicas", 3, "node-id", "admin stale"),
    administers("replicate", 3, "node-id"),
    administers("reset", -2, "[HARD|SOFT]", "admin noscript stale"),
    administers("saveconfig", 2),
    administers("set-config-epoch", 3, "config-epoch:integer"),
    administers("setslot", -4, "slot:integer subcommand [node-id]"),
    asks("shards", 2),
    administers("slaves", 3, "node-id", "admin stale"),
    asks("slots", 2),
};

constexpr RespCommand about_connection(std::string_view name, std::string_view flags) {
  return {name,      1,       refuse,  kAuthenticated, flags, {}, "@fast @connection",
          "cluster", "3.0.0", kRefused};
}

constexpr std::array kClusterCommands{
    about_connection("asking", "fast"),
    RespCommand{"cluster",
                -2,
                nullptr,
                kAuthenticated,
                "",
                {},
                "@slow",
                "cluster",
                "3.0.0",
                kRefused,
                {},
                kCluster},
    about_connection("readonly", "loading stale fast"),
    about_connection("readwrite", "loading stale fast"),
};

}  // namespace

std::span<const RespCommand> cluster_commands() { return kClusterCommands; }

}  // namespace quipu
