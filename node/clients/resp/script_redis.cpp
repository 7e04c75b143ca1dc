// The table `redis` of scripts.
#include <algorithm>
#include <cstdio>

#include "node/clients/resp/script_state.h"
#include "node/tls/hashes.h"

namespace quipu {
namespace {

// A counter that a command names takes about as long.
constexpr std::size_t kStepsOfAWord = 20;

int raise_text(lua_State* lua, std::string_view text) {
  push_script_error(lua, text);
  return lua_error(lua);
}

// Numbers become texts in place. False: some argument is neither a text nor a number.
bool make_words(lua_State* lua, int count) {
  for (int i = 1; i <= count; ++i) {
    if (lua_type(lua, i) == LUA_TNUMBER) {
      std::array<char, 32> text{};
      const int size = std::snprintf(text.data(), text.size(), "%.17g", lua_tonumber(lua, i));
      lua_pushlstring(lua, text.data(), static_cast<std::size_t>(size));
      lua_replace(lua, i);
    } else if (lua_type(lua, i) != LUA_TSTRING) {
      return false;
    }
  }
  return true;
}

// Between two frames of Lua: nothing is thrown, and nothing of Lua's is called that may raise.
bool execute(ScriptState& state, int count) noexcept {
  try {
    state.words.clear();
    for (int i = 1; i <= count; ++i) state.words.push_back(view_of(state.lua, i));
    state.reply = (*state.command)(state.words);
    return true;
  } catch (...) {
    state.thrown = std::current_exception();
    return false;
  }
}

// Leaves the reply as a value on the top. False: it is an error.
bool call_command(lua_State* lua) {
  ScriptState& state = script_state(lua);
  const int count = lua_gettop(lua);
  if (count == 0) {
    push_script_error(lua, "Please specify at least one argument for this redis lib call");
    return false;
  }
  if (!make_words(lua, count)) {
    push_script_error(lua, "Lua redis lib command arguments must be strings or integers");
    return false;
  }
  count_steps(lua, static_cast<std::size_t>(count) * kStepsOfAWord);
  if (state.commands == kMaxScriptCommands) end_script(lua, ScriptEnd::commands);
  ++state.commands;
  if (!execute(state, count)) end_script(lua, ScriptEnd::exception);
  lua_settop(lua, 0);
  if (push_reply(lua, state.reply)) return !state.reply.starts_with('-');
  push_script_error(lua, "the reply of a command cannot be read");
  return false;
}

int redis_call(lua_State* lua) { return call_command(lua) ? 1 : lua_error(lua); }

int redis_pcall(lua_State* lua) {
  (void)call_command(lua);
  return 1;
}

bool has_one_text(lua_State* lua) {
  if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING) return true;
  push_script_error(lua, "wrong number or type of arguments");
  return false;
}

int redis_error_reply(lua_State* lua) {
  if (!has_one_text(lua)) return 1;
  if (!view_of(lua, 1).starts_with('-')) {
    lua_pushliteral(lua, "-");
    lua_insert(lua, 1);
    lua_concat(lua, 2);
  }
  push_script_error(lua, view_of(lua, 1));
  return 1;
}

int redis_status_reply(lua_State* lua) {
  if (!has_one_text(lua)) return 1;
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

// One instruction takes about as long.
constexpr std::size_t kHashedBytesInOne = 64;

int redis_sha1hex(lua_State* lua) {
  if (lua_gettop(lua) != 1 || lua_isstring(lua, 1) == 0)
    return raise_text(lua, "wrong number of arguments");
  const std::string_view text = view_of(lua, 1);
  count_steps(lua, text.size() / kHashedBytesInOne);
  const std::array<char, 40> digits = sha1_digits(text);
  lua_pushlstring(lua, digits.data(), digits.size());
  return 1;
}

constexpr int kLogDebug = 0, kLogVerbose = 1, kLogNotice = 2, kLogWarning = 3;

// A node's log is the operator's. Any client could fill it here.
int redis_log(lua_State* lua) {
  if (lua_gettop(lua) < 2) return raise_text(lua, "redis.log() requires two arguments or more.");
  if (lua_isnumber(lua, 1) == 0)
    return raise_text(lua, "First argument must be a number (log level).");
  const double level = lua_tonumber(lua, 1);
  if (!(level > kLogDebug - 1 && level < kLogWarning + 1))
    return raise_text(lua, "Invalid debug level.");
  return 0;
}

int redis_replicate_commands(lua_State* lua) {
  lua_pushboolean(lua, 1);
  return 1;
}

constexpr luaL_Reg kRedisFunctions[] = {
    {"call", redis_call},
    {"pcall", redis_pcall},
    {"error_reply", redis_error_reply},
    {"status_reply", redis_status_reply},
    {"sha1hex", redis_sha1hex},
    {"log", redis_log},
    {"replicate_commands", redis_replicate_commands},
};

}  // namespace

void push_script_redis(lua_State* lua) {
  lua_newtable(lua);
  set_functions(lua, kRedisFunctions);
  struct Level {
    const char* name;
    int level;
  };
  for (const Level& one : {Level{"LOG_DEBUG", kLogDebug}, Level{"LOG_VERBOSE", kLogVerbose},
                           Level{"LOG_NOTICE", kLogNotice}, Level{"LOG_WARNING", kLogWarning}}) {
    lua_pushinteger(lua, one.level);
    lua_setfield(lua, -2, one.name);
  }
}

std::array<char, 40> sha1_digits(std::string_view text) {
  const Sha1 digest = sha1(text);
  std::array<char, 40> digits{};
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int half = digest[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15;
    digits[i] = "0123456789abcdef"[half];
  }
  return digits;
}

std::string sha1_hex(std::string_view text) { return in_hex(sha1(text)); }

}  // namespace quipu
