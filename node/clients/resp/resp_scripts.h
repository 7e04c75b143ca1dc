// resp_scripts.h: EVAL, EVALSHA and SCRIPT.
//
//   text or SHA1, keys, args ─▶ one decision about all keys ─▶ the node that decides ─▶
//   ScriptEngine
//                                (cluster/changes/decision.h)        its commands ─▶ their rules
//
// A script calls the rules that execute commands in a transaction (resp_decisions.h), so all that
// it changes is one change. The text travels, and not its SHA1, since each node remembers scripts
// for itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/clients/resp/resp_packed.h"
#include "node/clients/resp/script_engine.h"
#include "node/users/rights.h"

namespace quipu {

class Decisions;

// The scripts that the clients of one reactor have sent, by their SHA1 in lower case.
class RespScripts {
 public:
  static constexpr std::size_t kMost = 256;  // beyond it, the one used longest ago is forgotten

  // Returns its SHA1.
  std::string remember(std::string_view text);
  // nullptr: it is not remembered. Valid until the next call.
  [[nodiscard]] const std::string* find(std::string_view sha1);
  void forget_all() { scripts_.clear(); }
  [[nodiscard]] std::size_t size() const { return scripts_.size(); }
  // For scripts without keys, and to compile.
  [[nodiscard]] ScriptEngine& engine();

 private:
  struct Script {
    std::string text;
    std::uint64_t used = 0;
  };
  std::map<std::string, Script, std::less<>> scripts_;
  std::uint64_t uses_ = 0;
  std::unique_ptr<ScriptEngine> engine_;
};

// A packed script: one command, with the words TEXT PREFIX RIGHTS NUMKEYS KEY… ARG…. Keys are full
// names; PREFIX is that of the client's database, without which the script sees them. RIGHTS are
// the user's, as a number: the node that decides checks the script's commands.
struct PackedScript {
  bool read_only = false;
  Rights may = kAllRights;
  std::string_view text{}, prefix{};
  std::vector<std::string_view> keys{}, args{};
};
// Nothing: these are no such bytes.
[[nodiscard]] std::optional<PackedScript> read_script(PackedReader& from);

// Runs it; its commands are about `on` alone.
[[nodiscard]] std::string run_script(ScriptEngine& engine, const PackedScript& script,
                                     RespWriter::Version version, Decisions& on);

}  // namespace quipu
