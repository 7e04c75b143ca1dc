// script_state.h: one run of a script, as the functions that the script calls see it.
//
// Lua reports errors with longjmp. So a function between Lua and Lua must hold nothing that has a
// destructor when it calls Lua; what needs one is here. And no exception may pass Lua:
// it is kept here until the script has ended.
//
// Invariant: once a bound is passed, no allocation succeeds and every instruction raises an error.
// So nothing that the script does (pcall in a loop) keeps it running.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <lua.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "node/clients/resp/script_engine.h"
#include "node/clients/resp/script_memory.h"

namespace quipu {

// What ended a script that did not end by itself.
enum class ScriptEnd : std::uint8_t { none, instructions, memory, commands, reply, exception };

struct ScriptState {
  ScriptMemory memory{};
  lua_State* lua = nullptr;  // its only thread: there are no coroutines

  ScriptEnd ended = ScriptEnd::none;
  std::size_t steps = 0;     // instructions, and what counts as such
  std::size_t commands = 0;  // that were executed
  std::uint64_t random = 0;
  int error_line = 0;  // of the error that was raised last; 0: not known
  const ScriptEngine::Command* command = nullptr;
  std::vector<std::string_view> words{};  // of the command that is executed
  std::string reply{};                    // of the last command; then of the script
  std::exception_ptr thrown{};
};

// Where the registry keeps what no script may reach.
enum class ScriptSlot : std::uint8_t { chunk = 1, globals, on_error, names };

[[nodiscard]] ScriptState& script_state(lua_State* lua);
// The allocator; `state` is a ScriptState.
void* script_allocate(void* state, void* block, std::size_t old_size, std::size_t new_size);
// Begins to count instructions.
void watch_script(ScriptState& state);
[[noreturn]] void end_script(lua_State* lua, ScriptEnd why);
// Counts work of a function like instructions. Raises an error if these were too many.
void count_steps(lua_State* lua, std::size_t steps);

// Fills the registry and the global environment of a new interpreter. A lua_CFunction.
int prepare_script_state(lua_State* lua);
// Each pushes a table of functions. Lua's libraries must be open: most functions are theirs.
void push_script_basics(lua_State* lua);
void push_script_strings(lua_State* lua);
void push_script_tables(lua_State* lua);
void push_script_math(lua_State* lua);
void push_script_redis(lua_State* lua);
// Sets fields of the table on the stack's top.
void set_functions(lua_State* lua, std::span<const luaL_Reg> functions);
// Copies fields from the table at `from` to the one on the top.
void copy_fields(lua_State* lua, int from, std::span<const char* const> names);
// As the function tostring, but the name of a table does not have its address, which differs
// between nodes. Leaves the text on the top.
void push_text_of(lua_State* lua, int index);

// Pushes what redis.call returns for this reply, or nothing and false: it is not RESP2.
[[nodiscard]] bool push_reply(lua_State* lua, std::string_view reply);
// Pushes {err = text}. Without a code ("-CODE …" as in a reply), the code is ERR.
void push_script_error(lua_State* lua, std::string_view text);
// Writes the value on the top as a reply. Lua may raise an error meanwhile, or `to` throw.
void write_script_reply(lua_State* lua, RespWriter& to);

[[nodiscard]] std::array<char, 40> sha1_digits(std::string_view text);
[[nodiscard]] inline std::string_view view_of(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* const bytes = lua_tolstring(lua, index, &size);
  return {bytes, size};
}

}  // namespace quipu
