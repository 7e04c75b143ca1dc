// Replies of commands as values of Lua, and values of Lua as the reply of a script.
#include <algorithm>
#include <limits>

#include "node/clients/resp/script_state.h"

namespace quipu {
namespace {

// Redis converts by what the processor does: all that does not fit is the lowest number.
std::int64_t truncated(double number) {
  constexpr double kEdge = 9223372036854775808.0;  // 2^63
  if (!(number > -kEdge && number < kEdge)) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(number);
}

void push_view(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
}

void push_field(lua_State* lua, const char* name, std::string_view text) {
  lua_createtable(lua, 0, 1);
  push_view(lua, text);
  lua_setfield(lua, -2, name);
}

// Takes one reply from the front and pushes it. False: it is not RESP2; then anything was pushed.
bool take_value(lua_State* lua, std::string_view& rest, std::size_t depth);

bool take_bulk(lua_State* lua, std::string_view& rest, std::int64_t size) {
  if (size == -1) {
    lua_pushboolean(lua, 0);
    return true;
  }
  if (size < 0 || static_cast<std::uint64_t>(size) > rest.size()) return false;
  const auto bytes = static_cast<std::size_t>(size);
  if (rest.substr(bytes, 2) != "\r\n") return false;
  push_view(lua, rest.substr(0, bytes));
  rest.remove_prefix(bytes + 2);
  return true;
}

bool take_array(lua_State* lua, std::string_view& rest, std::int64_t items, std::size_t depth) {
  if (items == -1) {
    lua_pushboolean(lua, 0);
    return true;
  }
  // Each item takes three bytes or more: a count that lies allocates nothing.
  if (items < 0 || static_cast<std::uint64_t>(items) > rest.size() / 3) return false;
  if (depth == kMaxScriptDepth) return false;
  const int count = static_cast<int>(items);
  luaL_checkstack(lua, 4, "");
  lua_createtable(lua, count, 0);
  for (int i = 1; i <= count; ++i) {
    if (!take_value(lua, rest, depth + 1)) return false;
    lua_rawseti(lua, -2, i);
  }
  return true;
}

bool take_value(lua_State* lua, std::string_view& rest, std::size_t depth) {
  const std::size_t end = rest.find("\r\n");
  if (end == 0 || end == rest.npos) return false;
  const char type = rest.front();
  const std::string_view line = rest.substr(1, end - 1);
  rest.remove_prefix(end + 2);
  if (type == '+') {
    push_field(lua, "ok", line);
    return true;
  }
  if (type == '-') {
    push_script_error(lua, std::string_view(line.data() - 1, line.size() + 1));
    return true;
  }
  const auto number = to_integer(line);
  if (!number) return false;
  if (type == ':') {
    lua_pushnumber(lua, static_cast<lua_Number>(*number));
    return true;
  }
  if (type == '$') return take_bulk(lua, rest, *number);
  return type == '*' && take_array(lua, rest, *number, depth);
}

// The field of the table on the top, if it is a text. It stays on the stack.
bool push_text_field(lua_State* lua, const char* name) {
  lua_pushstring(lua, name);
  lua_rawget(lua, -2);
  if (lua_type(lua, -1) == LUA_TSTRING) return true;
  lua_pop(lua, 1);
  return false;
}

void write_status(RespWriter& to, std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char byte) { return byte == '\r' || byte == '\n'; }, ' ');
  to.simple(line);
}

void write_value(lua_State* lua, RespWriter& to, std::size_t depth);

// As in Redis, an array ends before its first nil.
void write_array(lua_State* lua, RespWriter& to, std::size_t depth) {
  int count = 0;
  for (;; ++count) {
    lua_rawgeti(lua, -1, count + 1);
    const bool last = lua_isnil(lua, -1);
    lua_pop(lua, 1);
    if (last) break;
  }
  to.array(static_cast<std::size_t>(count));
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(lua, -1, i);
    write_value(lua, to, depth + 1);
    lua_pop(lua, 1);
  }
}

void write_table(lua_State* lua, RespWriter& to, std::size_t depth) {
  if (depth == kMaxScriptDepth || lua_checkstack(lua, 4) == 0) {
    to.error("ERR reached lua stack limit");
  } else if (push_text_field(lua, "err")) {
    to.error(view_of(lua, -1));
    lua_pop(lua, 1);
  } else if (push_text_field(lua, "ok")) {
    write_status(to, view_of(lua, -1));
    lua_pop(lua, 1);
  } else {
    write_array(lua, to, depth);
  }
}

void write_value(lua_State* lua, RespWriter& to, std::size_t depth) {
  switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
      to.bulk(view_of(lua, -1));
      break;
    case LUA_TNUMBER:
      to.integer(truncated(lua_tonumber(lua, -1)));
      break;
    case LUA_TBOOLEAN:
      lua_toboolean(lua, -1) != 0 ? to.integer(1) : to.null();
      break;
    case LUA_TTABLE:
      write_table(lua, to, depth);
      break;
    default:
      to.null();
  }
  // Every value has some bytes, so this ends tables that contain each other, too.
  if (script_state(lua).reply.size() > kMaxScriptReply) end_script(lua, ScriptEnd::reply);
}

}  // namespace

bool push_reply(lua_State* lua, std::string_view reply) {
  const int top = lua_gettop(lua);
  if (take_value(lua, reply, 0) && reply.empty()) return true;
  lua_settop(lua, top);
  return false;
}

void push_script_error(lua_State* lua, std::string_view text) {
  const bool coded = text.starts_with('-') && text.find(' ') != text.npos;
  if (text.starts_with('-')) text.remove_prefix(1);
  while (text.ends_with('\r') || text.ends_with('\n')) text.remove_suffix(1);
  lua_createtable(lua, 0, 1);
  push_view(lua, coded ? "" : "ERR ");
  push_view(lua, text);
  lua_concat(lua, 2);
  lua_setfield(lua, -2, "err");
}

void write_script_reply(lua_State* lua, RespWriter& to) { write_value(lua, to, 0); }

}  // namespace quipu
