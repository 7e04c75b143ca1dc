#include "node/clients/resp/resp_questions.h"

#include <algorithm>
#include <memory>

#include "protocol/element.h"
#include "protocol/shard_number.h"

namespace quipu {
namespace {

// A counter with several shards is read after its add was acknowledged. So is a counter whose
// add was a retry.
template <auto change_error_of>
bool write_total(RespConnection& connection, const RespAnswer& answer, RespWriter& to) {
  const Done* const done = answer.done;
  if (done == nullptr) {
    const Value& value = only_value(answer);
    value.code == Code::ok
        ? to.integer(value.value)
        : connection.fail(to, "PARTIAL it was added, but the total is unknown: " + value.detail);
  } else if (done->code != Code::ok) {
    connection.fail(to, change_error_of(done->code, done->detail));
  } else if (done->total) {
    to.integer(*done->total);
  } else {
    connection.read_front();
    return false;
  }
  return true;
}

// All or none: many clients do not check for errors in an array. As in Redis, a counter of another
// kind has no value.
void write_values(RespConnection& connection, std::span<const Value> values, RespWriter& to) {
  const auto failed = std::find_if(values.begin(), values.end(), [](const Value& value) {
    return value.code != Code::ok && value.code != Code::wrong_type;
  });
  if (failed != values.end()) return write_failure(connection, *failed, to);
  to.array(values.size());
  for (const Value& value : values)
    value.code == Code::ok ? write_value(connection, value, to) : to.null();
}

}  // namespace

void add(RespConnection& connection, const Op& op) {
  connection.change(op, write_total<change_error>);
}

void add(RespConnection& connection, std::string_view key, std::int64_t amount) {
  Op& op = connection.new_change(write_total<change_error>);
  op.key = key;
  op.amount = amount;
  op.ack = connection.server().ack_for(key);
}

void add_by_token(RespConnection& connection, const Op& op) {
  connection.change(op, write_total<token_error>);
}

Op apply_of(const RespConnection& connection, Kind kind, std::string_view key,
            std::string_view words) {
  return {.key = key,
          .words = words,
          .shard = shard_of(kind),
          .kind = OpKind::apply,
          .ack = connection.server().ack_for(key)};
}

HashKey element_salt(const RespConnection& connection) {
  return element_salt(connection.server().context.port.core()->executor().map().placement_key());
}

void write_query_failure(RespConnection& connection, const QueryReply& reply, RespWriter& to) {
  connection.fail(to, read_error(reply.code, reply.detail));
}

void write_answer(RespConnection& connection, const QueryReply& reply, std::string_view absent,
                  bool (*write)(std::string_view answer, RespWriter& to), RespWriter& to) {
  RespFigures& figures = connection.server().figures;
  if (reply.code != Code::ok) {
    write_query_failure(connection, reply, to);
  } else if (!reply.exists) {
    ++figures.misses;
    connection.fail(to, std::string(absent));
  } else if (++figures.hits; !write(reply.reply, to)) {
    connection.fail(to, unread_error(Code::protocol_error, "the answer is of another version"));
  }
}

Op reset_of(const RespConnection& connection, std::string_view key) {
  return {.key = key, .kind = OpKind::reset, .ack = connection.server().ack_for(key)};
}

void write_failure(RespConnection& connection, const Value& value, RespWriter& to) {
  connection.fail(to, read_error(value.code, value.detail));
}

void write_failure(RespConnection& connection, const Done& done, RespWriter& to) {
  connection.fail(to, change_error(done.code, done.detail));
}

void read_many(RespConnection& connection, RespConnection::Words keys, ReadLevel level) {
  if (keys.size() <= kMaxReadKeys && level == ReadLevel::by_default) {
    return connection.read_default(
        keys, [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
          write_values(from, answer.values, to);
          return true;
        });
  }
  const auto all = std::make_shared<ReadAll>(connection, keys, level);
  connection.run([&connection, all](const RespAnswer& answer, RespWriter& to) {
    if (!all->take(answer)) return false;
    write_values(connection, all->values(), to);
    return true;
  });
  all->ask();
}

void ReadAll::ask() {
  std::vector<std::string_view> part;
  for (std::size_t i = values_.size(); i < keys_.size() && part.size() < kMaxReadKeys; ++i)
    part.emplace_back(keys_[i]);
  connection_.again(std::move(part), level_);
}

bool ReadAll::take(const RespAnswer& answer) {
  const auto part = answer.values;
  values_.insert(values_.end(), part.begin(), part.end());
  if (values_.size() == keys_.size()) return true;
  ask();
  return false;
}

// A counter whose total is too large for a reply is known to exist.
const Value* ReadAll::failed() const {
  for (const Value& value : values_)
    if (value.code != Code::ok && !value.exists) return &value;
  return nullptr;
}

}  // namespace quipu
