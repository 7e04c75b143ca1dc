// PFADD, PFCOUNT and PFMERGE: how many different elements counters have (storage/kinds/distinct.h).
#include <algorithm>
#include <array>
#include <memory>

#include "node/clients/resp/resp_questions.h"
#include "protocol/element.h"
#include "storage/kinds/distinct.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

Op change_of(const RespConnection& connection, std::string_view key, std::string_view words) {
  return apply_of(connection, Kind::distinct, key, words);
}

// ---- PFADD ----

void write_changed(RespConnection& connection, const Done& done, RespWriter& to) {
  done.code == Code::ok ? to.integer(distinct::changed(done.detail) ? 1 : 0)
                        : write_failure(connection, done, to);
}

// The hashes of these elements, as the words of an op.
std::string hashed(const RespConnection& connection, Words elements) {
  const HashKey salt = element_salt(connection);
  std::vector<std::uint64_t> hashes;
  hashes.reserve(elements.size());
  for (const std::string_view element : elements) hashes.push_back(element_hash(salt, element));
  return distinct::words_of(hashes);
}

// More elements than fit one op: all ops at once, and 1 if any changed something.
void add_many(RespConnection& connection, Words words) {
  std::vector<Op> ops;
  for (Words rest = words.subspan(2); !rest.empty();) {
    const Words part = rest.first(std::min(rest.size(), distinct::kMaxElements));
    rest = rest.subspan(part.size());
    ops.push_back(change_of(connection, words[1], connection.keep(hashed(connection, part))));
  }
  connection.run([&connection, open = ops.size(), worst = Done{}, any = false](
                     const RespAnswer& answer, RespWriter& to) mutable {
    const Done& done = *answer.done;
    any = any || (done.code == Code::ok && distinct::changed(done.detail));
    if (describe(done.code).outcome > describe(worst.code).outcome) worst = done;
    if (--open > 0) return false;
    worst.code == Code::ok ? to.integer(any ? 1 : 0) : write_failure(connection, worst, to);
    return true;
  });
  connection.again(std::move(ops));
}

void pfadd(RespConnection& connection, Words words) {
  const Words elements = words.subspan(2);
  if (elements.size() > distinct::kMaxElements) return add_many(connection, words);
  const std::string_view hashes = connection.keep(hashed(connection, elements));
  connection.change(change_of(connection, words[1], hashes),
                    [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
                      write_changed(from, *answer.done, to);
                      return true;
                    });
}

// ---- PFCOUNT ----

void pfcount(RespConnection& connection, Words words) {
  if (words.size() - 1 > kMaxReadKeys)
    return connection.error("ERR PFCOUNT counts the union of at most 1024 keys");
  connection.query({.kind = Kind::distinct,
                    .words = distinct::kCountQuestion,
                    .keys = {words.begin() + 1, words.end()}},
                   [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
                     const QueryReply& reply = *answer.query;
                     const auto count = distinct::count(reply.reply);
                     if (reply.code != Code::ok || !count) {
                       write_query_failure(from, reply, to);
                     } else {
                       RespFigures& figures = from.server().figures;
                       ++(reply.exists ? figures.hits : figures.misses);
                       to.integer(static_cast<std::int64_t>(*count));
                     }
                     return true;
                   });
}

// ---- PFMERGE ----

// The union of the sources is read, and then joined into the destination. What is added to a
// source meanwhile may be left out, as if it had come later. But what was missed would be missing
// for good. So it is read twice: strong, for what a majority has, and local, for what this node has
// acknowledged.
class Merge {
 public:
  Merge(RespConnection& connection, Words words)
      : connection_(connection), destination_(words[1]), sources_(words.begin() + 1, words.end()) {}

  bool take(const RespAnswer& answer, RespWriter& to) {
    if (const Done* const done = answer.done; done != nullptr) {
      done->code == Code::ok ? to.simple("OK") : write_failure(connection_, *done, to);
      return true;
    }
    const QueryReply& sources = *answer.query;
    const bool none = sources.reply.empty();
    if (sources.code != Code::ok || (!none && !kDistinct.sound(sources.reply))) {
      connection_.fail(to, unread_error(sources.code, sources.detail));
      return true;
    }
    if (!none) {
      Edit edit(body_.data(), body_.size());
      kDistinct.join(edit, sources.reply);
      if (edit.replaced()) body_ = std::move(*edit.replaced());
    }
    if (std::exchange(reads_left_, reads_left_ - 1) > 1) {
      ask(ReadLevel::local);
    } else {
      words_ = body_.empty() ? distinct::words_of({}) : distinct::words_to_merge(body_);
      connection_.again({change_of(connection_, destination_, words_)});
    }
    return false;
  }
  void ask(ReadLevel level) const {
    connection_.again(Query{.kind = Kind::distinct,
                            .level = level,
                            .words = distinct::kUnionQuestion,
                            .keys = {sources_.begin(), sources_.end()}});
  }

 private:
  RespConnection& connection_;
  const std::string destination_;
  const std::vector<std::string> sources_;
  int reads_left_ = 2;
  std::string body_;  // of what they brought
  std::string words_;
};

void pfmerge(RespConnection& connection, Words words) {
  if (words.size() - 1 > kMaxReadKeys)
    return connection.error("ERR PFMERGE merges at most 1024 keys");
  const auto merge = std::make_shared<Merge>(connection, words);
  connection.run(
      [merge](const RespAnswer& answer, RespWriter& to) { return merge->take(answer, to); });
  merge->ask(ReadLevel::strong);
}

constexpr std::array kDistinctCommands{
    RespCommand{"pfadd", -2, pfadd, kMayCount, "write denyoom fast", one_key("RW insert"),
                "@write @hyperloglog @fast", "hyperloglog", "2.8.9",
                "Adds elements to a counter of different elements.", "key [element...]"},
    RespCommand{"pfcount", -2, pfcount, kMayRead, "readonly", all_keys("RO access"),
                "@read @hyperloglog @slow", "hyperloglog", "2.8.9",
                "Tells how many different elements counters have together.", "key..."},
    RespCommand{"pfmerge", -2, pfmerge, kMayRead | kMayCount, "write denyoom",
                all_keys("RW access insert"), "@write @hyperloglog @slow", "hyperloglog", "2.8.9",
                "Adds the elements of counters to a counter.", "destkey [sourcekey...]"},
};

}  // namespace

std::span<const RespCommand> distinct_commands() { return kDistinctCommands; }

}  // namespace quipu
