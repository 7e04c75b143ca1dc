#include "node/clients/resp/script_state.h"

namespace quipu {
namespace {

// Fine enough for the bound, and rare enough to cost nothing.
constexpr int kInstructionsAtOnce = 100;
// A script that holds a larger block pays for it with each instruction (script_engine.h).
constexpr std::size_t kBlockOfOneStep = 2048;

// All growth is refused now, so this allocation raises an error. Of all errors only this one
// calls no handler of xpcall. Lua counts no instructions in a handler of an error that was raised
// while it counted, so a handler could run for ever.
[[noreturn]] void raise_end(lua_State* lua) {
  (void)lua_newuserdata(lua, 1);
  __builtin_unreachable();
}

void on_instructions(lua_State* lua, lua_Debug* /*where*/) {
  if (script_state(lua).ended != ScriptEnd::none) raise_end(lua);
  count_steps(lua, kInstructionsAtOnce);
}

// Called by the allocator, too, so it does not raise. lua_sethook may be called at any time.
void mark_ended(ScriptState& state, ScriptEnd why) {
  if (state.ended == ScriptEnd::none) state.ended = why;
  state.memory.refuse();
  if (state.lua != nullptr) lua_sethook(state.lua, on_instructions, LUA_MASKCOUNT, 1);
}

}  // namespace

ScriptState& script_state(lua_State* lua) {
  void* state = nullptr;
  (void)lua_getallocf(lua, &state);
  return *static_cast<ScriptState*>(state);
}

void* script_allocate(void* state, void* block, std::size_t old_size, std::size_t new_size) {
  ScriptState& script = *static_cast<ScriptState*>(state);
  void* const moved = script.memory.resize(block, old_size, new_size);
  if (moved == nullptr && new_size > 0) mark_ended(script, ScriptEnd::memory);
  return moved;
}

void watch_script(ScriptState& state) {
  lua_sethook(state.lua, on_instructions, LUA_MASKCOUNT, kInstructionsAtOnce);
}

void end_script(lua_State* lua, ScriptEnd why) {
  mark_ended(script_state(lua), why);
  raise_end(lua);
}

void count_steps(lua_State* lua, std::size_t steps) {
  ScriptState& state = script_state(lua);
  state.steps += steps * (1 + state.memory.largest() / kBlockOfOneStep);
  // The last of all those that are allowed may still be executed.
  if (state.steps > kMaxScriptInstructions) end_script(lua, ScriptEnd::instructions);
}

}  // namespace quipu
