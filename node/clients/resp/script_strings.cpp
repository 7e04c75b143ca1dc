// The table `string` of scripts: Lua's own functions where one call's work is bounded by its
// arguments, else with a bound around them. Patterns are matched by script_pattern.h.
#include <algorithm>
#include <type_traits>

#include "node/clients/resp/script_pattern.h"
#include "node/clients/resp/script_state.h"

namespace quipu {
namespace {

static_assert(std::is_trivially_destructible_v<ScriptPattern>, "Lua's errors skip destructors");

// What one instruction may take instead.
constexpr std::size_t kPatternStepsInOne = 8;
constexpr std::size_t kBytesInOne = 256;
// Formatting a number with all its digits takes some microseconds.
constexpr std::size_t kStepsOfItem = 16;

std::string_view check_text(lua_State* lua, int arg, std::size_t longest, const char* error) {
  std::size_t size = 0;
  const char* const bytes = luaL_checklstring(lua, arg, &size);
  luaL_argcheck(lua, size <= longest, arg, error);
  return {bytes, size};
}

std::string_view check_subject(lua_State* lua) {
  return check_text(lua, 1, kMaxScriptSubject, "string is over 65536 bytes");
}

std::string_view check_pattern(lua_State* lua) {
  return check_text(lua, 2, kMaxScriptPattern, "pattern is over 128 bytes");
}

// ---- Lua's own functions, each as the upvalue of its bound ----

int call_original(lua_State* lua) { return lua_tocfunction(lua, lua_upvalueindex(1))(lua); }

int string_short(lua_State* lua) {
  (void)check_subject(lua);
  return call_original(lua);
}

int string_each_byte(lua_State* lua) {
  count_steps(lua, check_subject(lua).size() / kBytesInOne);
  return call_original(lua);
}

int string_format(lua_State* lua) {
  const auto items = std::ranges::count(check_subject(lua), '%');
  count_steps(lua, static_cast<std::size_t>(items) * kStepsOfItem);
  return call_original(lua);
}

int string_rep(lua_State* lua) {
  const std::size_t size = check_subject(lua).size();
  const lua_Integer times = luaL_checkinteger(lua, 2);
  if (size == 0 || times <= 0) {
    lua_pushliteral(lua, "");
    return 1;
  }
  luaL_argcheck(lua, static_cast<std::size_t>(times) <= kMaxScriptSubject / size, 2,
                "resulting string is over 65536 bytes");
  count_steps(lua, static_cast<std::size_t>(times) * (size + 8) / kBytesInOne);
  return call_original(lua);
}

// ---- patterns ----

// Matches, and counts the steps of this as instructions.
std::size_t match_at(lua_State* lua, ScriptPattern& pattern, std::size_t at) {
  const std::size_t left = kMaxScriptInstructions - script_state(lua).steps + 1;
  std::size_t fuel = left * kPatternStepsInOne;
  const std::size_t end = pattern.match(at, fuel);
  if (pattern.error() == ScriptPattern::kOutOfFuel) end_script(lua, ScriptEnd::instructions);
  if (pattern.error() != nullptr) luaL_error(lua, "%s", pattern.error());
  count_steps(lua, left - fuel / kPatternStepsInOne);
  return end;
}

struct Span {
  std::size_t begin, end;
};

void push_capture(lua_State* lua, const ScriptPattern& pattern, std::string_view subject,
                  std::size_t i, Span whole) {
  if (i >= pattern.captures()) {
    if (i > 0) luaL_error(lua, "invalid capture index");
    lua_pushlstring(lua, subject.data() + whole.begin, whole.end - whole.begin);
    return;
  }
  const ScriptPattern::Capture& capture = pattern.capture(i);
  switch (capture.kind) {
    case ScriptPattern::Capture::Kind::open:
      luaL_error(lua, "unfinished capture");
      break;
    case ScriptPattern::Capture::Kind::position:
      lua_pushinteger(lua, static_cast<lua_Integer>(capture.begin) + 1);
      break;
    case ScriptPattern::Capture::Kind::closed:
      lua_pushlstring(lua, subject.data() + capture.begin, capture.size);
      break;
  }
}

// All captures; without any, the whole match if `whole_too`. Returns how many.
int push_captures(lua_State* lua, const ScriptPattern& pattern, std::string_view subject,
                  Span whole, bool whole_too) {
  const std::size_t count =
      pattern.captures() == 0 && whole_too ? std::size_t{1} : pattern.captures();
  luaL_checkstack(lua, static_cast<int>(count), "too many captures");
  for (std::size_t i = 0; i < count; ++i) push_capture(lua, pattern, subject, i, whole);
  return static_cast<int>(count);
}

// Where string.find and string.match begin.
std::size_t first_place(lua_State* lua, std::size_t size) {
  const auto length = static_cast<lua_Integer>(size);
  lua_Integer place = luaL_optinteger(lua, 3, 1);
  if (place < 0) place += length + 1;
  return static_cast<std::size_t>(std::clamp<lua_Integer>(place - 1, 0, length));
}

int push_place(lua_State* lua, std::size_t begin, std::size_t end) {
  lua_pushinteger(lua, static_cast<lua_Integer>(begin) + 1);
  lua_pushinteger(lua, static_cast<lua_Integer>(end));
  return 2;
}

int find_plain(lua_State* lua, std::string_view subject, std::string_view text, std::size_t from) {
  count_steps(lua, (subject.size() - from) * (text.size() + 4) / (4 * kBytesInOne));
  const std::size_t at = subject.find(text, from);
  if (at != subject.npos) return push_place(lua, at, at + text.size());
  lua_pushnil(lua);
  return 1;
}

enum class Wanted : std::uint8_t { place, match };

int find_pattern(lua_State* lua, Wanted wanted) {
  const std::string_view subject = check_subject(lua), text = check_pattern(lua);
  std::size_t at = first_place(lua, subject.size());
  const std::string_view until_zero = text.substr(0, text.find('\0'));
  const bool plain =
      lua_toboolean(lua, 4) != 0 || until_zero.find_first_of("^$*+?.([%-") == text.npos;
  if (wanted == Wanted::place && plain) return find_plain(lua, subject, text, at);
  ScriptPattern pattern(subject, text);
  for (; at <= subject.size(); ++at) {
    const std::size_t end = match_at(lua, pattern, at);
    if (end != ScriptPattern::kNone) {
      const int places = wanted == Wanted::place ? push_place(lua, at, end) : 0;
      return places + push_captures(lua, pattern, subject, {at, end}, wanted == Wanted::match);
    }
    if (pattern.anchored()) break;
  }
  lua_pushnil(lua);
  return 1;
}

int string_find(lua_State* lua) { return find_pattern(lua, Wanted::place); }
int string_match(lua_State* lua) { return find_pattern(lua, Wanted::match); }

// Upvalues: the subject, the pattern, where to go on.
int next_match(lua_State* lua) {
  const std::string_view subject = view_of(lua, lua_upvalueindex(1));
  ScriptPattern pattern(subject, view_of(lua, lua_upvalueindex(2)));
  pattern.take_literally();
  auto at = static_cast<std::size_t>(lua_tointeger(lua, lua_upvalueindex(3)));
  for (; at <= subject.size(); ++at) {
    const std::size_t end = match_at(lua, pattern, at);
    if (end == ScriptPattern::kNone) continue;
    lua_pushinteger(lua, static_cast<lua_Integer>(end == at ? end + 1 : end));
    lua_replace(lua, lua_upvalueindex(3));
    return push_captures(lua, pattern, subject, {at, end}, true);
  }
  return 0;
}

int string_gmatch(lua_State* lua) {
  (void)check_subject(lua);
  (void)check_pattern(lua);
  lua_settop(lua, 2);
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, next_match, 3);
  return 1;
}

// ---- gsub ----

// "%1" in a replacement is the first capture.
void add_replacement(lua_State* lua, luaL_Buffer& to, const ScriptPattern& pattern,
                     std::string_view subject, Span match) {
  const std::string_view text = view_of(lua, 3);
  count_steps(lua, text.size() / kBytesInOne);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      luaL_addchar(&to, text[i]);
      continue;
    }
    ++i;
    const char byte = i < text.size() ? text[i] : '\0';  // as Lua 5.1 reads behind a last "%"
    if (byte < '0' || byte > '9') {
      luaL_addchar(&to, byte);
    } else if (byte == '0') {
      luaL_addlstring(&to, subject.data() + match.begin, match.end - match.begin);
    } else {
      push_capture(lua, pattern, subject, static_cast<std::size_t>(byte - '1'), match);
      luaL_addvalue(&to);
    }
  }
}

void add_result(lua_State* lua, luaL_Buffer& to, const ScriptPattern& pattern,
                std::string_view subject, Span match) {
  switch (lua_type(lua, 3)) {
    case LUA_TFUNCTION: {
      lua_pushvalue(lua, 3);
      const int count = push_captures(lua, pattern, subject, match, true);
      lua_call(lua, count, 1);
      break;
    }
    case LUA_TTABLE:
      push_capture(lua, pattern, subject, 0, match);
      lua_gettable(lua, 3);
      break;
    default:
      add_replacement(lua, to, pattern, subject, match);
      return;
  }
  if (lua_toboolean(lua, -1) == 0) {
    lua_pop(lua, 1);
    lua_pushlstring(lua, subject.data() + match.begin, match.end - match.begin);
  } else if (lua_isstring(lua, -1) == 0) {
    luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
  }
  luaL_addvalue(&to);
}

int string_gsub(lua_State* lua) {
  const std::string_view subject = check_subject(lua);
  ScriptPattern pattern(subject, check_pattern(lua));
  const int type = lua_type(lua, 3);
  luaL_argcheck(
      lua,
      type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE, 3,
      "string/function/table expected");
  const lua_Integer most = luaL_optinteger(lua, 4, static_cast<lua_Integer>(subject.size()) + 1);
  luaL_Buffer result;
  luaL_buffinit(lua, &result);
  lua_Integer count = 0;
  std::size_t at = 0;
  while (count < most) {
    const std::size_t end = match_at(lua, pattern, at);
    if (end != ScriptPattern::kNone) {
      ++count;
      count_steps(lua, 1);
      add_result(lua, result, pattern, subject, {at, end});
    }
    if (end != ScriptPattern::kNone && end > at)
      at = end;
    else if (at < subject.size())
      luaL_addchar(&result, subject[at++]);
    else
      break;
    if (pattern.anchored()) break;
  }
  luaL_addlstring(&result, subject.data() + at, subject.size() - at);
  luaL_pushresult(&result);
  lua_pushinteger(lua, count);
  return 2;
}

constexpr luaL_Reg kStringFunctions[] = {
    {"find", string_find},    {"match", string_match}, {"gmatch", string_gmatch},
    {"gfind", string_gmatch}, {"gsub", string_gsub},
};
constexpr luaL_Reg kBoundedStrings[] = {
    {"byte", string_short},      {"sub", string_short},       {"len", string_short},
    {"char", call_original},     {"format", string_format},   {"rep", string_rep},
    {"lower", string_each_byte}, {"upper", string_each_byte}, {"reverse", string_each_byte},
};

}  // namespace

void push_script_strings(lua_State* lua) {
  lua_newtable(lua);
  set_functions(lua, kStringFunctions);
  lua_getglobal(lua, LUA_STRLIBNAME);
  for (const luaL_Reg& one : kBoundedStrings) {
    lua_getfield(lua, -1, one.name);
    lua_pushcclosure(lua, one.func, 1);
    lua_setfield(lua, -3, one.name);
  }
  lua_pop(lua, 1);
}

}  // namespace quipu
