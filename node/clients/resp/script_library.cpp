// The global environment of scripts: the basic functions, and the tables `table` and `math`.
#include <algorithm>
#include <cmath>

#include "node/clients/resp/script_state.h"

namespace quipu {
namespace {

// ---- tables that a script can read, but not change ----
//
//   string ─▶ {}, whose metatable has   __index ─▶ the functions
//                                       __newindex ─▶ refuse_change
//                                       __metatable ─▶ false

constexpr const char* kReadOnly = "Attempt to modify a readonly table";

int refuse_change(lua_State* lua) { return luaL_error(lua, kReadOnly); }

// Replaces the table on the top by one that shows it.
void make_read_only(lua_State* lua) {
  lua_newtable(lua);
  lua_createtable(lua, 0, 3);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, refuse_change);
  lua_setfield(lua, -2, "__newindex");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  lua_remove(lua, -2);
}

// Functions that would pass by the metatable.
void check_changeable(lua_State* lua, int arg) {
  if (lua_type(lua, arg) != LUA_TTABLE || lua_getmetatable(lua, arg) == 0) return;
  lua_pushliteral(lua, "__newindex");
  lua_rawget(lua, -2);
  const bool read_only = lua_tocfunction(lua, -1) == refuse_change;
  lua_pop(lua, 2);
  if (!read_only) return;
  lua_pushstring(lua, kReadOnly);  // as in Redis, without the place
  lua_error(lua);
}

int refuse_unknown(lua_State* lua) {
  if (lua_isstring(lua, 2) == 0)
    return luaL_error(lua, "Second argument to luaProtectedTableError must be a string or number");
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                    lua_tostring(lua, 2));
}

// ---- basic functions ----

// The first argument, if it may be changed; then Lua's own function, which is the upvalue.
int base_of_changeable(lua_State* lua) {
  check_changeable(lua, 1);
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

// As in Redis 7: an error of redis.call is a table, of which scripts get the text.
int base_pcall(lua_State* lua) {
  luaL_checkany(lua, 1);
  const int status = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
  if (status != 0 && lua_istable(lua, -1)) {
    lua_pushliteral(lua, "err");
    lua_rawget(lua, -2);
    lua_isstring(lua, -1) != 0 ? lua_replace(lua, -2) : lua_pop(lua, 1);
  }
  luaL_checkstack(lua, 1, "too many results");
  lua_pushboolean(lua, status == 0 ? 1 : 0);
  lua_insert(lua, 1);
  return lua_gettop(lua);
}

int base_tostring(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (luaL_callmeta(lua, 1, "__tostring") == 0) push_text_of(lua, 1);
  return 1;
}

// An error becomes a text, if it is none; and the place of the error is remembered.
int on_script_error(lua_State* lua) {
  ScriptState& state = script_state(lua);
  if (state.ended != ScriptEnd::none) return 1;
  lua_Debug place{};
  state.error_line = 0;
  for (int level = 1; level <= 2; ++level) {  // the function that raised it, or its caller
    if (lua_getstack(lua, level, &place) == 0 || lua_getinfo(lua, "Sl", &place) == 0) break;
    state.error_line = std::max(place.currentline, 0);
    if (place.what[0] != 'C') break;
  }
  if (lua_istable(lua, 1)) return 1;
  lua_pushliteral(lua, "ERR ");
  push_text_of(lua, 1);
  lua_concat(lua, 2);
  return 1;
}

constexpr const char* kBasics[] = {"_VERSION", "assert", "error",    "getmetatable", "ipairs",
                                   "next",     "pairs",  "rawequal", "rawget",       "select",
                                   "tonumber", "type",   "unpack",   "xpcall"};

// ---- table ----

// An element that is moved takes less time than an instruction, one that is written as a text
// takes more.
constexpr std::size_t kMovesInOne = 8;

std::size_t elements(lua_State* lua, int arg) {
  luaL_checktype(lua, arg, LUA_TTABLE);
  return lua_objlen(lua, arg);
}

// A position far below the first one would take as many moves.
int table_insert(lua_State* lua) {
  const auto end = static_cast<lua_Integer>(elements(lua, 1)) + 1;
  if (lua_gettop(lua) == 3) {
    const lua_Integer at = luaL_checkinteger(lua, 2);
    if (at < end)
      count_steps(lua,
                  (static_cast<std::size_t>(end) - static_cast<std::size_t>(at)) / kMovesInOne);
  }
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

int table_remove(lua_State* lua) {
  const std::size_t count = elements(lua, 1);
  if (lua_gettop(lua) > 1) count_steps(lua, count / kMovesInOne);
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

int table_concat(lua_State* lua) {
  const auto count = static_cast<lua_Integer>(elements(lua, 1));
  const lua_Integer first = luaL_optinteger(lua, 3, 1), last = luaL_optinteger(lua, 4, count);
  // Lua stops at the first element that is missing, and a table cannot have more elements.
  constexpr lua_Integer kMostElements = kMaxScriptMemory / 16;
  if (first <= last && first > -kMostElements)
    count_steps(lua, static_cast<std::size_t>(std::min(last - first + 1, kMostElements)));
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

// Lua's sort may compare n² times. Upvalue: the script's own function, or nil.
int compare_counted(lua_State* lua) {
  count_steps(lua, 1);
  if (lua_isnil(lua, lua_upvalueindex(1))) {
    lua_pushboolean(lua, lua_lessthan(lua, 1, 2));
    return 1;
  }
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, 2, 1);
  return 1;
}

int table_sort(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (!lua_isnoneornil(lua, 2)) luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_settop(lua, 2);
  lua_pushcclosure(lua, compare_counted, 1);
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

constexpr luaL_Reg kCountedTables[] = {{"insert", table_insert},
                                       {"remove", table_remove},
                                       {"concat", table_concat},
                                       {"sort", table_sort}};
constexpr const char* kTables[] = {"getn"};

// ---- math ----

// The generator of Redis: lrand48 of POSIX. Each script finds it as a new Redis server has it.
constexpr std::uint64_t kFirstRandom = 0x1234abcd330e;

std::uint64_t seeded(std::int64_t seed) {
  return (static_cast<std::uint64_t>(seed) & 0xffffffff) << 16 | 0x330e;
}

double next_random(ScriptState& state) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  state.random = (state.random * 0x5deece66d + 0xb) & ((std::uint64_t{1} << 48) - 1);
  return static_cast<double>(static_cast<std::int64_t>(state.random >> 17) % kMax) /
         static_cast<double>(kMax);
}

int math_random(lua_State* lua) {
  const double random = next_random(script_state(lua));
  const int given = lua_gettop(lua);
  if (given > 2) return luaL_error(lua, "wrong number of arguments");
  if (given == 0) {
    lua_pushnumber(lua, random);
    return 1;
  }
  const auto first = static_cast<double>(given == 2 ? luaL_checkint(lua, 1) : 1);
  const auto last = static_cast<double>(luaL_checkint(lua, given));
  luaL_argcheck(lua, first <= last, given, "interval is empty");
  lua_pushnumber(lua, std::floor(random * (last - first + 1)) + first);
  return 1;
}

int math_randomseed(lua_State* lua) {
  script_state(lua).random = seeded(luaL_checkint(lua, 1));
  return 0;
}

constexpr luaL_Reg kMath[] = {{"random", math_random}, {"randomseed", math_randomseed}};

// ---- the environment ----

void open_library(lua_State* lua, lua_CFunction open, const char* name) {
  lua_pushcfunction(lua, open);
  lua_pushstring(lua, name);
  lua_call(lua, 1, 0);
}

void keep_in_registry(lua_State* lua, ScriptSlot slot) {
  lua_rawseti(lua, LUA_REGISTRYINDEX, static_cast<int>(slot));
}

// Texts that Lua or we look up where no memory may be allocated any more.
void keep_names(lua_State* lua) {
  lua_newtable(lua);
  int i = 0;
  for (const char* name : {"error in error handling", "err", "ok", "ERR ", "__newindex"}) {
    lua_pushstring(lua, name);
    lua_rawseti(lua, -2, ++i);
  }
  keep_in_registry(lua, ScriptSlot::names);
}

// `"x":len()` finds its functions here.
void protect_texts(lua_State* lua, int strings) {
  lua_pushliteral(lua, "");
  lua_getmetatable(lua, -1);
  lua_pushvalue(lua, strings);
  lua_setfield(lua, -2, "__index");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_pop(lua, 2);
}

}  // namespace

void set_functions(lua_State* lua, std::span<const luaL_Reg> functions) {
  for (const luaL_Reg& one : functions) {
    lua_pushcfunction(lua, one.func);
    lua_setfield(lua, -2, one.name);
  }
}

void copy_fields(lua_State* lua, int from, std::span<const char* const> names) {
  for (const char* name : names) {
    lua_getfield(lua, from, name);
    lua_setfield(lua, -2, name);
  }
}

void push_text_of(lua_State* lua, int index) {
  const int type = lua_type(lua, index);
  if (type == LUA_TNUMBER || type == LUA_TSTRING) {
    lua_pushvalue(lua, index);
    (void)lua_tostring(lua, -1);
  } else if (type == LUA_TBOOLEAN) {
    lua_pushstring(lua, lua_toboolean(lua, index) != 0 ? "true" : "false");
  } else if (type == LUA_TNIL) {
    lua_pushliteral(lua, "nil");
  } else {
    // Lua's own objects are all in one piece of memory, in a place of their own.
    const auto address = reinterpret_cast<std::uintptr_t>(lua_topointer(lua, index));
    const auto origin = reinterpret_cast<std::uintptr_t>(lua);
    lua_pushfstring(lua, "%s: %p", luaL_typename(lua, index),
                    reinterpret_cast<void*>(address - origin));
  }
}

void push_script_basics(lua_State* lua) {
  lua_newtable(lua);
  copy_fields(lua, LUA_GLOBALSINDEX, kBasics);
  for (const char* name : {"rawset", "setmetatable"}) {
    lua_getfield(lua, LUA_GLOBALSINDEX, name);
    lua_pushcclosure(lua, base_of_changeable, 1);
    lua_setfield(lua, -2, name);
  }
  constexpr luaL_Reg kOwn[] = {{"pcall", base_pcall}, {"tostring", base_tostring}};
  set_functions(lua, kOwn);
}

void push_script_tables(lua_State* lua) {
  lua_newtable(lua);
  lua_getglobal(lua, LUA_TABLIBNAME);
  lua_insert(lua, -2);
  copy_fields(lua, lua_gettop(lua) - 1, kTables);
  for (const luaL_Reg& one : kCountedTables) {
    lua_getfield(lua, -2, one.name);
    lua_pushcclosure(lua, one.func, 1);
    lua_setfield(lua, -2, one.name);
  }
  lua_remove(lua, -2);
}

void push_script_math(lua_State* lua) {
  lua_getglobal(lua, LUA_MATHLIBNAME);
  set_functions(lua, kMath);
}

int prepare_script_state(lua_State* lua) {
  open_library(lua, luaopen_base, "");
  open_library(lua, luaopen_string, LUA_STRLIBNAME);
  open_library(lua, luaopen_table, LUA_TABLIBNAME);
  open_library(lua, luaopen_math, LUA_MATHLIBNAME);
  keep_names(lua);
  lua_pushcfunction(lua, on_script_error);
  keep_in_registry(lua, ScriptSlot::on_error);

  push_script_basics(lua);
  const int globals = lua_gettop(lua);
  push_script_strings(lua);
  make_read_only(lua);
  protect_texts(lua, lua_gettop(lua));
  lua_setfield(lua, globals, LUA_STRLIBNAME);
  push_script_tables(lua);
  make_read_only(lua);
  lua_setfield(lua, globals, LUA_TABLIBNAME);
  push_script_math(lua);
  make_read_only(lua);
  lua_setfield(lua, globals, LUA_MATHLIBNAME);
  push_script_redis(lua);
  make_read_only(lua);
  lua_setfield(lua, globals, "redis");

  lua_createtable(lua, 0, 1);
  lua_pushcfunction(lua, refuse_unknown);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, globals);
  lua_pushvalue(lua, globals);
  keep_in_registry(lua, ScriptSlot::globals);
  make_read_only(lua);
  lua_pushvalue(lua, -1);
  lua_setfield(lua, LUA_REGISTRYINDEX, "_G");
  // The tables that Lua's libraries made are garbage now.
  lua_pushnil(lua);
  lua_setfield(lua, LUA_REGISTRYINDEX, "_LOADED");
  lua_rawgeti(lua, LUA_REGISTRYINDEX, static_cast<int>(ScriptSlot::globals));
  lua_getfield(lua, LUA_REGISTRYINDEX, "_G");
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -3, "_G");
  lua_replace(lua, LUA_GLOBALSINDEX);
  lua_settop(lua, 0);
  script_state(lua).random = kFirstRandom;
  lua_gc(lua, LUA_GCCOLLECT, 0);
  return 0;
}

}  // namespace quipu
