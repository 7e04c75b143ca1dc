// TOPK.*: which items are the most frequent (storage/kinds/top.h). Replies and errors are those of
// RedisBloom, but for what README.md says.
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "node/clients/resp/resp_questions.h"
#include "protocol/top_words.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

constexpr std::string_view kNoTop = "TopK: key does not exist";
constexpr std::string_view kTooManyTopItems = "ERR a command has at most 1024 items";
constexpr std::string_view kLongItem = "TopK: an item has at most 128 bytes";

// Empty: they are as they should be.
std::string_view objection_to_items(Words words, std::size_t step) {
  if (words.size() / step > top::kMaxItems) return kTooManyTopItems;
  for (std::size_t i = 0; i < words.size(); i += step)
    if (words[i].size() > top::kMaxItem) return kLongItem;
  return {};
}

// ---- TOPK.RESERVE ----

std::optional<std::uint32_t> at_least_one(std::string_view word) {
  const auto number = to_integer(word);
  if (!number || *number < 1 || *number > std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

std::optional<double> decay_in(std::string_view word) {
  double decay = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), decay);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole && decay >= 0 && decay <= 1 ? std::optional(decay + 0.0) : std::nullopt;
}

void reserve(RespConnection& connection, Words words) {
  if (words.size() != 3 && words.size() != 6)
    return connection.error("ERR wrong number of arguments for 'topk.reserve' command");
  const auto k = at_least_one(words[2]);
  if (!k) return connection.error("TopK: invalid k");
  if (*k > top::kMostListed) return connection.error("TopK: k is at most 100");
  top::Shape shape = top::kUsualShape;
  shape.k = *k;
  if (words.size() == 6) {
    const auto width = at_least_one(words[3]), depth = at_least_one(words[4]);
    const auto decay = decay_in(words[5]);
    if (!width) return connection.error("TopK: invalid width");
    if (!depth) return connection.error("TopK: invalid depth");
    if (!decay) return connection.error("TopK: invalid decay value. must be '<= 1' & '>= 0'");
    shape = {.k = *k, .width = *width, .depth = *depth, .decay = *decay};
  }
  const std::string_view begin = connection.keep(top::words_to_begin(shape));
  connection.change(apply_of(connection, Kind::top, words[1], begin),
                    [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
                      const Done& done = *answer.done;
                      if (done.code != Code::ok) {
                        write_failure(from, done, to);
                      } else if (top::began(done.detail)) {
                        to.simple("OK");
                      } else {
                        from.fail(to, "TopK: key already exists");
                      }
                      return true;
                    });
}

// ---- TOPK.ADD, TOPK.INCRBY ----

void add_items(RespConnection& connection, std::string_view key,
               const std::vector<top::Increment>& increments) {
  const std::string_view add = connection.keep(top::words_to_add(increments));
  connection.change(apply_of(connection, Kind::top, key, add),
                    [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
                      const Done& done = *answer.done;
                      const auto expelled = top::expelled(done.detail);
                      if (done.code != Code::ok || !expelled) {
                        write_failure(from, done, to);
                        return true;
                      }
                      to.array(expelled->size());
                      for (const auto& item : *expelled) item ? to.bulk(*item) : to.null();
                      return true;
                    });
}

void topk_add(RespConnection& connection, Words words) {
  const Words items = words.subspan(2);
  if (const auto why = objection_to_items(items, 1); !why.empty()) return connection.error(why);
  std::vector<top::Increment> increments;
  for (const std::string_view item : items) increments.push_back({item, 1});
  add_items(connection, words[1], increments);
}

void topk_incrby(RespConnection& connection, Words words) {
  const Words pairs = words.subspan(2);
  if (pairs.size() % 2 != 0)
    return connection.error("ERR wrong number of arguments for 'topk.incrby' command");
  if (const auto why = objection_to_items(pairs, 2); !why.empty()) return connection.error(why);
  std::vector<top::Increment> increments;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const auto count = to_integer(pairs[i + 1]);
    if (!count || *count < 1) return connection.error("TopK: increment must be an integer above 0");
    increments.push_back({pairs[i], static_cast<std::uint64_t>(*count)});
  }
  add_items(connection, words[1], increments);
}

// ---- TOPK.QUERY, TOPK.COUNT, TOPK.LIST, TOPK.INFO ----

template <bool (*Write)(std::string_view answer, RespWriter& to)>
bool write_told_of_top(RespConnection& connection, const RespAnswer& answer, RespWriter& to) {
  write_answer(connection, *answer.query, kNoTop, Write, to);
  return true;
}

template <bool (*Write)(std::string_view answer, RespWriter& to)>
void ask_about(RespConnection& connection, Words words) {
  const Words items = words.subspan(2);
  if (const auto why = objection_to_items(items, 1); !why.empty()) return connection.error(why);
  const std::vector<std::string> named(items.begin(), items.end());
  connection.query(
      {.kind = Kind::top, .words = connection.keep(top::question_about(named)), .keys = {words[1]}},
      write_told_of_top<Write>);
}

bool write_listed(std::string_view answer, RespWriter& to) {
  const auto standings = top::standings(answer);
  if (!standings) return false;
  to.array(standings->size());
  for (const top::Standing& one : *standings) to.integer(one.listed ? 1 : 0);
  return true;
}

bool write_uppers(std::string_view answer, RespWriter& to) {
  const auto standings = top::standings(answer);
  if (!standings) return false;
  to.array(standings->size());
  // An item that was never seen has an upper bound, too, but Redis's clients expect 0.
  for (const top::Standing& one : *standings)
    to.integer(one.lower > 0 ? static_cast<std::int64_t>(one.upper) : 0);
  return true;
}

template <bool WithCount>
bool write_list(std::string_view answer, RespWriter& to) {
  const auto list = top::list(answer);
  if (!list) return false;
  to.array(list->size() * (WithCount ? 2 : 1));
  for (const top::Listed& one : *list) {
    to.bulk(one.item);
    if (WithCount) to.integer(static_cast<std::int64_t>(one.upper));
  }
  return true;
}

void topk_list(RespConnection& connection, Words words) {
  if (words.size() > 3 || (words.size() == 3 && !same_word(words[2], "withcount")))
    return connection.error("ERR syntax error: TOPK.LIST key [WITHCOUNT]");
  const Query question{.kind = Kind::top, .words = top::kListQuestion, .keys = {words[1]}};
  words.size() == 3 ? connection.query(question, write_told_of_top<write_list<true>>)
                    : connection.query(question, write_told_of_top<write_list<false>>);
}

bool write_shape(std::string_view answer, RespWriter& to) {
  const auto shape = top::info(answer);
  if (!shape) return false;
  to.map(4);
  to.bulk("k");
  to.integer(shape->k);
  to.bulk("width");
  to.integer(shape->width);
  to.bulk("depth");
  to.integer(shape->depth);
  to.bulk("decay");
  char decay[32];
  const auto end = std::to_chars(decay, decay + sizeof decay, shape->decay);
  to.bulk(std::string_view(decay, static_cast<std::size_t>(end.ptr - decay)));
  return true;
}

void topk_info(RespConnection& connection, Words words) {
  connection.query({.kind = Kind::top, .words = top::kInfoQuestion, .keys = {words[1]}},
                   write_told_of_top<write_shape>);
}

constexpr std::array kTopCommands{
    RespCommand{"topk.reserve", -3, reserve, kMayCount, "write denyoom", one_key("RW insert"),
                "@write @slow", "topk", "7.0.0",
                "Begins a counter that lists the k most frequent items.",
                "key topk:integer [width_depth_decay...]"},
    RespCommand{"topk.add", -3, topk_add, kMayCount, "write denyoom", one_key("RW update"),
                "@write @slow", "topk", "7.0.0",
                "Counts items; tells which ones they pushed off the list.", "key item..."},
    RespCommand{"topk.incrby", -4, topk_incrby, kMayCount, "write denyoom", one_key("RW update"),
                "@write @slow", "topk", "7.0.0",
                "Counts items several times; tells which ones they pushed off the list.",
                "key item increment:integer [item_increment...]"},
    RespCommand{"topk.query", -3, ask_about<write_listed>, kMayRead, "readonly",
                one_key("RO access"), "@read @slow", "topk", "7.0.0",
                "Tells whether items are on the list.", "key item..."},
    RespCommand{"topk.count", -3, ask_about<write_uppers>, kMayRead, "readonly",
                one_key("RO access"), "@read @slow", "topk", "7.0.0",
                "Tells how often items came, at most.", "key item..."},
    RespCommand{"topk.list", -2, topk_list, kMayRead, "readonly", one_key("RO access"),
                "@read @slow", "topk", "7.0.0", "Lists the most frequent items.",
                "key [withcount]"},
    RespCommand{"topk.info", 2, topk_info, kMayRead, "readonly fast", one_key("RO access"),
                "@read @fast", "topk", "7.0.0", "Tells what a list was begun with.", "key"},
};

}  // namespace

std::span<const RespCommand> top_commands() { return kTopCommands; }

}  // namespace quipu
