// CMS.*: how often each item came (storage/kinds/frequency.h). Replies and errors are those of
// RedisBloom, but for what README.md says.
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "node/clients/resp/resp_questions.h"
#include "protocol/element.h"
#include "protocol/frequency_words.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

constexpr std::string_view kNoKey = "CMS: key does not exist";
constexpr std::string_view kTooManyItems = "ERR a command has at most 8192 items";
constexpr std::size_t kMaxItems = 8192;  // of one op or question

// ---- CMS.INITBYDIM, CMS.INITBYPROB ----

// For people. REQUIRES: !is_size(size).
std::string too_large(frequency::Size size) {
  if (size.depth > frequency::kMostDepth)
    return "CMS: a sketch has a depth of 1 to " + std::to_string(frequency::kMostDepth);
  return "CMS: a sketch with a depth of " + std::to_string(size.depth) + " has a width of 1 to " +
         std::to_string(frequency::most_width(size.depth));
}

void begin(RespConnection& connection, std::string_view key, frequency::Size size) {
  if (!frequency::is_size(size)) return connection.error(connection.keep(too_large(size)));
  const std::string_view words = connection.keep(frequency::words_to_begin(size));
  connection.change(apply_of(connection, Kind::frequency, key, words),
                    [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
                      const Done& done = *answer.done;
                      if (done.code != Code::ok) {
                        write_failure(from, done, to);
                      } else if (frequency::began(done.detail)) {
                        to.simple("OK");
                      } else {
                        from.fail(to, "CMS: key already exists");
                      }
                      return true;
                    });
}

std::optional<std::uint32_t> dimension(std::string_view word) {
  const auto number = to_integer(word);
  if (!number || *number < 1) return std::nullopt;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(*number, frequency::kMostWidth + 1));
}

void init_by_dim(RespConnection& connection, Words words) {
  const auto width = dimension(words[2]), depth = dimension(words[3]);
  if (!width) return connection.error("CMS: invalid width");
  if (!depth) return connection.error("CMS: invalid depth");
  begin(connection, words[1], {*width, *depth});
}

// Above 0 and below 1.
std::optional<double> share(std::string_view word) {
  double share = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), share);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole && share > 0 && share < 1 ? std::optional(share) : std::nullopt;
}

// The sizes that RedisBloom computes.
void init_by_prob(RespConnection& connection, Words words) {
  const auto error = share(words[2]), probability = share(words[3]);
  if (!error) return connection.error("CMS: invalid overestimation value");
  if (!probability) return connection.error("CMS: invalid prob value");
  const double width = std::min(std::ceil(2 / *error), double{frequency::kMostWidth + 1});
  const double depth = std::ceil(std::log10(*probability) / std::log10(0.5));
  begin(connection, words[1],
        {static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(depth)});
}

// ---- CMS.INCRBY ----

void write_counts(const std::vector<std::uint64_t>& counts, RespWriter& to) {
  to.array(counts.size());
  for (const std::uint64_t count : counts) to.integer(static_cast<std::int64_t>(count));
}

void increase(RespConnection& connection, Words words) {
  const Words pairs = words.subspan(2);
  if (pairs.size() % 2 != 0)
    return connection.error("ERR wrong number of arguments for 'cms.incrby' command");
  if (pairs.size() / 2 > kMaxItems) return connection.error(kTooManyItems);
  const HashKey salt = element_salt(connection);
  std::vector<frequency::Increment> increments;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const auto count = to_integer(pairs[i + 1]);
    if (!count) return connection.error("CMS: Cannot parse number");
    if (*count < 0) return connection.error("CMS: Number cannot be negative");
    increments.push_back({element_hash(salt, pairs[i]), static_cast<std::uint64_t>(*count)});
  }
  const std::string_view add = connection.keep(frequency::words_to_add(increments));
  connection.change(apply_of(connection, Kind::frequency, words[1], add),
                    [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
                      const Done& done = *answer.done;
                      const auto counts = frequency::added(done.detail);
                      done.code == Code::ok&& counts ? write_counts(*counts, to)
                                                     : write_failure(from, done, to);
                      return true;
                    });
}

// ---- CMS.QUERY, CMS.INFO ----

template <bool (*Write)(std::string_view answer, RespWriter& to)>
bool write_told(RespConnection& connection, const RespAnswer& answer, RespWriter& to) {
  write_answer(connection, *answer.query, kNoKey, Write, to);
  return true;
}

bool write_estimates(std::string_view answer, RespWriter& to) {
  const auto estimates = frequency::estimates(answer);
  if (estimates) write_counts(estimates->counts, to);
  return estimates.has_value();
}

void cms_query(RespConnection& connection, Words words) {
  const Words items = words.subspan(2);
  if (items.size() > kMaxItems) return connection.error(kTooManyItems);
  const HashKey salt = element_salt(connection);
  std::vector<std::uint64_t> hashes;
  for (const std::string_view item : items) hashes.push_back(element_hash(salt, item));
  connection.query({.kind = Kind::frequency,
                    .words = connection.keep(frequency::question_about(hashes)),
                    .keys = {words[1]}},
                   write_told<write_estimates>);
}

bool write_info(std::string_view answer, RespWriter& to) {
  const auto info = frequency::info(answer);
  if (!info) return false;
  to.map(3);
  to.bulk("width");
  to.integer(info->size.width);
  to.bulk("depth");
  to.integer(info->size.depth);
  to.bulk("count");
  to.integer(static_cast<std::int64_t>(info->total));
  return true;
}

void cms_info(RespConnection& connection, Words words) {
  connection.query({.kind = Kind::frequency, .words = frequency::kInfoQuestion, .keys = {words[1]}},
                   write_told<write_info>);
}

constexpr std::array kFrequencyCommands{
    RespCommand{"cms.initbydim", 4, init_by_dim, kMayCount, "write denyoom", one_key("RW insert"),
                "@write @slow", "cms", "7.0.0",
                "Begins a counter that estimates how often each item came, of a given size.",
                "key width:integer depth:integer"},
    RespCommand{"cms.initbyprob", 4, init_by_prob, kMayCount, "write denyoom", one_key("RW insert"),
                "@write @slow", "cms", "7.0.0",
                "Begins a counter that estimates how often each item came, of a given error.",
                "key error:double probability:double"},
    RespCommand{"cms.incrby", -4, increase, kMayCount, "write denyoom", one_key("RW update"),
                "@write @slow", "cms", "7.0.0", "Counts items; tells how often each came.",
                "key item increment:integer [item_increment...]"},
    RespCommand{"cms.query", -3, cms_query, kMayRead, "readonly", one_key("RO access"),
                "@read @slow", "cms", "7.0.0", "Tells how often items came.", "key item..."},
    RespCommand{"cms.info", 2, cms_info, kMayRead, "readonly fast", one_key("RO access"),
                "@read @fast", "cms", "7.0.0",
                "Tells the size of a sketch, and how much was counted.", "key"},
};

}  // namespace

std::span<const RespCommand> frequency_commands() { return kFrequencyCommands; }

}  // namespace quipu
