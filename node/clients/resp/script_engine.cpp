#include "node/clients/resp/script_engine.h"

#include <locale.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "node/clients/resp/script_state.h"
#include "protocol/check.h"

namespace quipu {
namespace {

// Compiling takes some times as long as running a short script. 64 of them take about 2 MiB.
constexpr std::size_t kRememberedScripts = 64;
// A larger one is compiled again each time.
constexpr std::size_t kLargestRemembered = std::size_t{96} << 10;

// Lua converts and compares as the locale of the thread says, and an embedding program may have
// set one.
class PlainLocale {
 public:
  explicit PlainLocale(locale_t plain) : before_(uselocale(plain)) {}
  ~PlainLocale() { uselocale(before_); }
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

 private:
  locale_t before_;
};

// "#!lua flags=…\n", which Redis 7 allows: Redis's error for it, or nothing and what it says.
struct Shebang {
  std::size_t size = 0;
  bool no_writes = false;  // the other flags change nothing here
  std::string error{};
};

void read_flags(std::string_view list, Shebang& to) {
  while (!list.empty()) {
    const std::string_view flag = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), flag.size() + 1));
    bool known = flag.empty();
    for (std::string_view one :
         {"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"})
      known = known || flag == one;
    if (!known) {
      to.error = "ERR Unexpected flag in script shebang: " + std::string(flag);
      return;
    }
    to.no_writes = to.no_writes || flag == "no-writes";
  }
}

Shebang shebang_of(std::string_view text) {
  if (!text.starts_with("#!")) return {};
  const std::size_t size = text.find('\n');
  if (size == text.npos) return {.error = "ERR Invalid script shebang"};
  std::string_view rest = text.substr(0, size);
  const auto next_word = [&rest] {
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size());
    return word;
  };
  const std::string_view engine = next_word();
  if (engine != "#!lua")
    return {.error = "ERR Unexpected engine in script shebang: " + std::string(engine)};
  Shebang shebang{.size = size};
  for (std::string_view word = next_word(); !word.empty(); word = next_word()) {
    if (!word.starts_with("flags="))
      return {.error = "ERR Unknown lua shebang option: " + std::string(word)};
    read_flags(word.substr(6), shebang);
    if (!shebang.error.empty()) return shebang;
  }
  return shebang;
}

std::string encoded_error(std::string_view text, RespWriter::Version version) {
  std::string reply;
  RespWriter(reply, version).error(text.substr(0, kMaxScriptReply - 16));
  return reply;
}

std::string_view words_of(ScriptEnd why) {
  switch (why) {
    case ScriptEnd::instructions:
      return "the script needs more than 100000 instructions";
    case ScriptEnd::memory:
      return "the script needs more than 1 MiB of memory, or 256 KiB in one piece";
    case ScriptEnd::commands:
      return "the script calls more than 1000 commands";
    default:
      return "the script's reply has more than 65536 bytes";
  }
}

// The outcome of a script that passed a bound.
std::string passed_bound(const ScriptState& state) {
  std::string error(state.commands == 0 ? "ERR " : "PARTIAL ");
  error.append(words_of(state.ended));
  if (state.commands == 0) return error + "; it was ended before its first command";
  const std::string count = std::to_string(state.commands);
  return error + "; it was ended after " + count +
         (state.commands == 1 ? " command" : " commands") + ", whose changes remain";
}

void push_texts(lua_State* lua, std::span<const std::string_view> texts) {
  lua_createtable(lua, static_cast<int>(texts.size()), 0);
  int i = 0;
  for (const std::string_view text : texts) {
    lua_pushlstring(lua, text.data(), text.size());
    lua_rawseti(lua, -2, ++i);
  }
}

struct Job {
  const ScriptCall& call;
  RespWriter::Version version;
};

// ---- called by Lua, with a pointer as the only argument ----

int compile(lua_State* lua) {
  const auto& body = *static_cast<const std::string_view*>(lua_touserdata(lua, 1));
  if (luaL_loadbuffer(lua, body.data(), body.size(), "@user_script") != 0) return lua_error(lua);
  lua_rawseti(lua, LUA_REGISTRYINDEX, static_cast<int>(ScriptSlot::chunk));
  return 0;
}

// The text of the error on the top of the stack, which keeps it. Empty: the error has none.
std::string_view text_of_error(lua_State* lua, int status) {
  if (lua_istable(lua, -1)) {
    lua_pushliteral(lua, "err");
    lua_rawget(lua, -2);
    if (lua_type(lua, -1) == LUA_TSTRING) return view_of(lua, -1);
    return "ERR the script raised an error without a text";
  }
  const bool has_text = status == LUA_ERRRUN && lua_type(lua, -1) == LUA_TSTRING;
  return has_text ? view_of(lua, -1) : std::string_view();
}

void write_error(ScriptState& state, std::string_view what, const Job& job) {
  const std::string name = sha1_hex(job.call.text);
  std::string text(what.substr(0, kMaxScriptReply / 2));
  if (text.empty()) text = "ERR Error running script " + name;
  text += " script: " + name;
  if (state.error_line > 0) text += ", on @user_script:" + std::to_string(state.error_line) + '.';
  state.reply = encoded_error(text, job.version);
}

// Writing may raise an error of Lua, so nothing here has a destructor. What it throws is kept.
void write_outcome(lua_State* lua, const Job& job, int status) {
  ScriptState& state = script_state(lua);
  try {
    state.reply.clear();
    RespWriter to(state.reply, job.version);
    if (status == 0) {
      write_script_reply(lua, to);
    } else {
      write_error(state, text_of_error(lua, status), job);
    }
  } catch (...) {
    state.ended = ScriptEnd::exception;
    state.thrown = std::current_exception();
  }
}

int execute_job(lua_State* lua) {
  const Job& job = *static_cast<const Job*>(lua_touserdata(lua, 1));
  ScriptState& state = script_state(lua);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, static_cast<int>(ScriptSlot::globals));
  push_texts(lua, job.call.keys);
  lua_setfield(lua, -2, "KEYS");
  push_texts(lua, job.call.args);
  lua_setfield(lua, -2, "ARGV");
  lua_rawgeti(lua, LUA_REGISTRYINDEX, static_cast<int>(ScriptSlot::on_error));
  lua_rawgeti(lua, LUA_REGISTRYINDEX, static_cast<int>(ScriptSlot::chunk));
  watch_script(state);
  const int status = lua_pcall(lua, 0, 1, -2);
  if (state.ended == ScriptEnd::none) write_outcome(lua, job, status);
  return 0;
}

}  // namespace

class ScriptEngine::Interpreter {
 public:
  Interpreter() : plain_(newlocale(LC_ALL_MASK, "C", nullptr)) {
    state_.lua = lua_newstate(script_allocate, &state_);
    QUIPU_CHECK(state_.lua != nullptr && plain_ != nullptr, "a new node has memory");
    const PlainLocale in(plain_);
    QUIPU_CHECK(lua_cpcall(state_.lua, prepare_script_state, nullptr) == 0,
                "the environment of scripts fits their memory", state_.memory.held());
    seed_ = state_.random;
    fresh_ = state_.memory.image();
  }
  // The interpreter is nothing but bytes of its memory.
  ~Interpreter() { freelocale(plain_); }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  std::string run(const ScriptCall& call, RespWriter::Version version, const Command& command) {
    const Running now(running_);
    const PlainLocale in(plain_);
    if (const auto error = load(call.text)) return encoded_error(*error, version);
    std::string reply = execute({call, version}, command);
    if (state_.thrown) std::rethrow_exception(std::exchange(state_.thrown, nullptr));
    return reply;
  }

  std::optional<std::string> objection(std::string_view text) {
    const Running now(running_);
    const PlainLocale in(plain_);
    return load(text);
  }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  class Running {
   public:
    explicit Running(bool& running) : running_(running) {
      QUIPU_CHECK(!running_, "a command of a script uses no engine of scripts");
      running_ = true;
    }
    ~Running() { running_ = false; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    bool& running_;
  };

  void begin(const ScriptMemory::Image& image) {
    state_.memory.restore(image);
    state_.ended = ScriptEnd::none;
    state_.steps = state_.commands = 0;
    state_.random = seed_;
    state_.error_line = 0;
  }

  // The memory becomes that of an interpreter that has compiled this text. Or the error.
  std::optional<std::string> load(std::string_view text) {
    if (const auto known = compiled_.find(text); known != compiled_.end()) {
      begin(known->second);
      return std::nullopt;
    }
    begin(fresh_);
    if (text.size() > kMaxScriptText) return "ERR the script has more than 65536 bytes";
    const Shebang shebang = shebang_of(text);
    if (!shebang.error.empty()) return shebang.error;
    std::string_view body = text.substr(shebang.size);
    std::string error = "ERR Error compiling script (new function): ";
    // Lua would take it for compiled code, which it does not verify.
    if (body.starts_with(LUA_SIGNATURE[0]))
      return error + "user_script:1: unexpected symbol near 'char(27)'";
    if (lua_cpcall(state_.lua, compile, &body) != 0) {
      if (state_.ended != ScriptEnd::none) return error.append(words_of(state_.ended));
      return error.append(view_of(state_.lua, -1));
    }
    remember(text);
    return std::nullopt;
  }

  void remember(std::string_view text) {
    ScriptMemory::Image image = state_.memory.image();
    if (image.size() > kLargestRemembered) return;
    if (compiled_.size() == kRememberedScripts) compiled_.clear();
    compiled_.emplace(text, std::move(image));
  }

  std::string execute(Job job, const Command& command) {
    state_.command = &command;
    const int status = lua_cpcall(state_.lua, execute_job, &job);
    state_.words.clear();
    if (state_.ended == ScriptEnd::exception) return {};
    if (state_.ended != ScriptEnd::none || status != 0)
      return encoded_error(passed_bound(state_), job.version);
    QUIPU_CHECK(state_.reply.size() <= kMaxScriptReply, "a reply is bounded", state_.reply.size());
    return std::move(state_.reply);
  }

  const locale_t plain_;
  ScriptState state_;
  std::uint64_t seed_ = 0;
  bool running_ = false;
  ScriptMemory::Image fresh_;
  std::unordered_map<std::string, ScriptMemory::Image, TextHash, std::equal_to<>> compiled_;
};

ScriptEngine::ScriptEngine() : interpreter_(std::make_unique<Interpreter>()) {}
ScriptEngine::~ScriptEngine() = default;

std::string ScriptEngine::run(const ScriptCall& call, RespWriter::Version version,
                              const Command& command) {
  return interpreter_->run(call, version, command);
}

std::optional<std::string> ScriptEngine::objection(std::string_view text) {
  return interpreter_->objection(text);
}

ScriptPromise promise_of_script(std::string_view text) {
  const Shebang shebang = shebang_of(text);
  if (shebang.size == 0 || !shebang.error.empty()) return ScriptPromise::none;
  return shebang.no_writes ? ScriptPromise::writes_nothing : ScriptPromise::may_write;
}

}  // namespace quipu
