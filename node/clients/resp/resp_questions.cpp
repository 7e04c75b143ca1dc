#include "node/clients/resp/resp_questions.h"

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

}  // namespace

const Value& only_value(const RespAnswer& answer) { return answer.values.front(); }

void add(RespConnection& connection, const Op& op) {
  connection.change(op, write_total<change_error>);
}

void add_by_token(RespConnection& connection, const Op& op) {
  connection.change(op, write_total<token_error>);
}

Op reset_of(const RespConnection& connection, std::string_view key) {
  return {.kind = OpKind::reset, .key = key, .ack = connection.server().ack_for(key)};
}

void count_read(RespConnection& connection, const Value& value) {
  RespFigures& figures = connection.server().figures;
  ++(value.exists ? figures.hits : figures.misses);
}

void write_value(RespConnection& connection, const Value& value, RespWriter& to) {
  if (value.code != Code::ok) return write_failure(connection, value, to);
  count_read(connection, value);
  value.exists ? to.bulk(value.value) : to.null();
}

void write_failure(RespConnection& connection, const Value& value, RespWriter& to) {
  connection.fail(to, read_error(value.code, value.detail));
}

void write_failure(RespConnection& connection, const Done& done, RespWriter& to) {
  connection.fail(to, change_error(done.code, done.detail));
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
