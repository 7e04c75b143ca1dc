#include "node/clients/resp/resp_connection.h"

#include <algorithm>
#include <utility>

#include "node/clients/resp/resp_command.h"
#include "protocol/check.h"
#include "protocol/shard_number.h"
#include "storage/kinds/parts.h"

namespace quipu {
namespace {

// How much one connection may have begun. Beyond this it is not read until some of it ends.
constexpr std::size_t kMaxBegun = 16'384;
constexpr std::size_t kKeptSlots = 1024;
constexpr std::size_t kMaxKnown = std::size_t{1} << 20;  // bytes of waiting replies
// After this many bytes of replies, other connections have their turn.
constexpr std::size_t kTurnOutput = std::size_t{256} << 10;
// After this many decisions, too: each may be a script.
constexpr std::size_t kTurnDecisions = 128;
// Their replies may be long. So no more than this many are asked for together.
constexpr std::size_t kDecisionsTogether = 16;
// How much of an unknown command is repeated in the error, as in Redis.
constexpr std::size_t kEcho = 128;

std::string unknown_command(RespConnection::Words words) {
  std::string text("ERR unknown command '");
  text.append(words[0].substr(0, kEcho)).append("', with args beginning with: ");
  std::string arguments;
  for (std::size_t i = 1; i < words.size() && arguments.size() < kEcho; ++i) {
    const std::string_view told = words[i].substr(0, kEcho - arguments.size());
    arguments.append("'").append(told).append("' ");
  }
  return text + arguments;
}

std::string wrong_arity(const RespCommand& command, const RespCommand* container) {
  return "ERR wrong number of arguments for '" + command_name(command, container) + "' command";
}

std::string unknown_subcommand(const RespCommand& command, std::string_view name) {
  return "ERR unknown subcommand '" + std::string(name.substr(0, kEcho)) + "'. Try " +
         raised(command.name) + " HELP.";
}

// Web pages can make browsers send such lines to any port, followed by a command.
bool is_http(std::string_view word) { return same_word(word, "post") || same_word(word, "host:"); }

// For its memory.
template <class T>
void give_back(std::vector<T>& borrowed, std::vector<T>& to) {
  borrowed.clear();
  to = std::move(borrowed);
}

RespAnswer view_of(const Answer& answer) {
  RespAnswer view;
  view.done = std::get_if<Done>(&answer);
  view.keys = std::get_if<Keys>(&answer);
  view.size = std::get_if<KeyCount>(&answer);
  view.namespaces = std::get_if<NamespaceReply>(&answer);
  view.range = std::get_if<RangeReply>(&answer);
  view.query = std::get_if<QueryReply>(&answer);
  if (const auto* const values = std::get_if<Values>(&answer)) view.values = values->values;
  return view;
}

// The same, to be kept.
Answer copy_of(std::uint64_t id, const RespAnswer& view) {
  if (view.done != nullptr) return *view.done;
  if (view.keys != nullptr) return *view.keys;
  if (view.size != nullptr) return *view.size;
  if (view.namespaces != nullptr) return *view.namespaces;
  if (view.range != nullptr) return *view.range;
  if (view.query != nullptr) return *view.query;
  return Values{id, {view.values.begin(), view.values.end()}};
}

}  // namespace

RespConnection::RespConnection(ClientId id, RespPeer peer, RespServer& server)
    : ClientProtocol(id, server.context.access),
      id_(id),
      peer_(std::move(peer)),
      server_(server),
      last_(peer_.since) {
  server_.connections.emplace(id_, this);
  on_access();
}

void RespConnection::on_closed() { server_.connections.erase(id_); }

ClientProtocol::State RespConnection::state() const {
  if (broken_) return State::broken;
  if (refused_ || (ending_ && waiting() == 0)) return State::ended;
  const bool full =
      waiting() + changes_.size() + reads_.size() >= kMaxBegun || known_bytes_ > kMaxKnown;
  if (ending_ || task_ || held_question_ || full) return State::waiting;
  return turn_over_ ? State::turn_over : State::reading;
}

void RespConnection::take(ReadBuffer& in, std::string& out) {
  out_ = &out;
  now_ = NodeClock::now();
  server_.begin_turn(now_);
  turn_over_ = false;
  const std::size_t begin = out.size();
  bool all = false;
  decisions_ = 0;
  const std::size_t most = access_.authenticated() ? kTurnOutput : kStrangerTurn;
  while (!all && state() == State::reading && out.size() - begin <= most &&
         decisions_ < kTurnDecisions) {
    unread_ = in.buffered();
    const std::optional<Words> words = requests_.next(in);
    if (!words) {
      all = true;
    } else if (!words->empty()) {
      execute(*words);
      count_known();
    }
  }
  const std::string& why = requests_.refused();
  if (!why.empty() && !ending_) {
    complain("ERR Protocol error: " + why);
    ending_ = true;
  }
  give_questions();
  kept_.clear();
  settle_figures();
  unread_ = in.buffered();
  turn_over_ = !all;
  out_ = nullptr;
}

void RespConnection::execute(Words words) {
  last_ = now_;
  last_subcommand_ = nullptr;
  if (unusual_ != 0) [[unlikely]] {
    if (refuse(words) || queue(words)) return;
    words = with_full_names(words);
  }
  const RespCommand* const command = find(words[0]);
  if (command == nullptr) {
    if (is_http(words[0])) return cut_off();
    access_.authenticated() ? complain(unknown_command(words)) : refuse_stranger();
  } else if (!command->subcommands.empty() && words.size() > 1) {
    execute_subcommand(*command, words);
  } else if (!command->accepts(words.size())) {
    reject(*command, nullptr, wrong_arity(*command, nullptr));
  } else if (last_permitted_ || may(*command, nullptr, words)) {
    command->run(*this, words);
    ++calls_;
  }
}

// In a database other than 0: with the names of counters as all others know them.
RespConnection::Words RespConnection::with_full_names(Words words) {
  const RespCommand* const command = (unusual_ & kInDatabase) != 0 ? find(words[0]) : nullptr;
  if (command == nullptr || !command->keys.any() || !command->accepts(words.size())) return words;
  full_words_.assign(words.begin(), words.end());
  for_each_key(*command, std::span(full_words_),
               [this](std::string_view& key) { key = full_name(key); });
  return full_words_;
}

void RespConnection::execute_subcommand(const RespCommand& command, Words words) {
  const RespCommand* const sub = find_subcommand(command, words[1]);
  if (sub == nullptr) return complain(unknown_subcommand(command, words[1]));
  if (!sub->accepts(words.size())) return reject(*sub, &command, wrong_arity(*sub, &command));
  if (!may(*sub, &command, words)) return;
  last_subcommand_ = sub;
  CommandCount& count = server_.commands[number_of(*sub, &command)];
  CommandCount* const whole = std::exchange(running_, &count);
  sub->run(*this, words);
  running_ = whole;
  ++server_.figures.commands_processed;
  server_.count_calls(count, 1);
}

void RespConnection::reject(const RespCommand& command, const RespCommand* container,
                            std::string why) {
  ++server_.commands[number_of(command, container)].rejected;
  if (command.name == "exec") {  // as in Redis, it ends the transaction that it would execute
    (void)take_transaction();
    why.replace(0, 3, "EXECABORT Transaction discarded because of:");
  }
  if (transaction_) transaction_->fail();
  complain(why);
}

// ---- its user ----

void RespConnection::refuse_stranger() { complain("NOAUTH Authentication required."); }

bool RespConnection::may(const RespCommand& command, const RespCommand* container, Words words) {
  const Rights missing = access_.missing_of(command.needs);
  if (missing.none()) return true;
  if (!access_.authenticated()) {
    refuse_stranger();
    return false;
  }
  const bool keys = missing == kEveryKey && command.keys.any();
  bool covered = keys;
  if (keys)
    for_each_key(command, words,
                 [&](std::string_view key) { covered = covered && permit().covers(key); });
  if (covered) return true;
  reject(command, container,
         keys ? std::string(kKeyNotPermitted)
              : not_permitted(permit(), command_name(command, container)));
  server_.context.meter.on_refused(Protocol::resp, Operation::other, Code::not_permitted);
  return false;
}

// last_permitted_ is looked up again with the next command.
void RespConnection::on_access() {
  last_word_.clear();
  requests_.set_most_words(access_.authenticated() ? RespRequests::kMaxWords : kMaxStrangerWords);
}

bool RespConnection::deny(std::string_view why) {
  error(why);
  server_.context.meter.on_refused(Protocol::resp, Operation::other, Code::not_permitted);
  return false;
}

bool RespConnection::permits(Rights needed, std::string_view command) {
  return access_.missing_of(needed).none() || deny(not_permitted(permit(), command));
}

bool RespConnection::permits_keys(Words keys) {
  return permit().covers_all(keys) || deny(kKeyNotPermitted);
}

bool RespConnection::permits_namespace(std::string_view name) {
  return permit().covers_namespace(name) || deny(kKeyNotPermitted);
}

bool RespConnection::log_in(std::string_view user, std::string_view secret) {
  if (!access_.log_in(user, secret)) {
    error(kWrongSecret);
    if (access_.exhausted()) end();
    return false;
  }
  on_access();
  return true;
}

// What was queued was permitted before.
bool RespConnection::renew_access() {
  const Permit before = permit();
  const bool known = access_.renew();
  on_access();
  if (transaction_ && !(permit() == before)) transaction_->fail();
  return known;
}

// Most clients send the same command again and again, so its calls are counted together.
void RespConnection::count_calls() {
  if (calls_ == 0) return;
  server_.figures.commands_processed += calls_;
  server_.count_calls(*running_, std::exchange(calls_, 0));
}

void RespConnection::settle_figures() {
  count_calls();
  server_.end_turn();
}

// An earlier refusal that still holds refuses this command, too. False: it does not.
bool RespConnection::refuse(Words words) {
  if (is_http(words[0])) {
    cut_off();
    return true;
  }
  return (unusual_ & kDatabaseRefused) != 0 && refuse_without_database(words);
}

// Clients that ignore the error would count in the database that they used before. A transaction
// may begin and end, but not with a command that was refused.
bool RespConnection::refuse_without_database(Words words) {
  for (const std::string_view allowed :
       {"select", "quit", "reset", "hello", "multi", "exec", "discard"})
    if (same_word(words[0], allowed)) return false;
  if (transaction_) transaction_->fail();
  complain(
      "NOTAPPLIED a SELECT was refused on this connection, and so is every command until one "
      "succeeds: send SELECT 0 or RESET, or raise databases in [client] of the node's settings");
  return true;
}

// ---- transactions ----

void RespConnection::begin_transaction() {
  transaction_ = std::make_unique<RespTransaction>();
  if ((unusual_ & kWatchRefused) != 0) transaction_->fail();
  set(kInTransaction, true);
}

std::unique_ptr<RespTransaction> RespConnection::take_transaction() {
  if (transaction_) set(kWatchRefused, false);
  set(kInTransaction, false);
  return std::move(transaction_);
}

// Between MULTI and EXEC, a command is checked and queued, as in Redis. False: this one is
// executed at once.
bool RespConnection::queue(Words words) {
  if (!transaction_) return false;
  for (const std::string_view at_once : {"exec", "discard", "multi", "watch", "quit", "reset"})
    if (same_word(words[0], at_once)) return false;
  // Else a transaction would be as many attempts at once as it has commands.
  for (const std::string_view apart : {"auth", "hello"}) {
    if (!same_word(words[0], apart)) continue;
    transaction_->fail();
    complain("ERR Command not allowed inside a transaction");
    return true;
  }
  const RespCommand* const command = find_command(words[0]);
  const bool in_container = command != nullptr && !command->subcommands.empty() && words.size() > 1;
  const RespCommand* const sub = in_container ? find_subcommand(*command, words[1]) : nullptr;
  const RespCommand* const checked = in_container ? sub : command;
  const RespCommand* const container = in_container ? command : nullptr;
  if (command == nullptr) {
    complain(unknown_command(words));
  } else if (checked == nullptr) {
    complain(unknown_subcommand(*command, words[1]));
  } else if (!checked->accepts(words.size())) {
    reject(*checked, container, wrong_arity(*checked, container));
  } else if (!may(*checked, container, with_full_names(words))) {
    return true;
  } else if (!transaction_->queue(words)) {
    complain("ERR a transaction has at most 16384 commands, of 2 MiB");
  } else {
    writer().simple("QUEUED");
    return true;
  }
  transaction_->fail();
  return true;
}

void RespConnection::execute_apart(Commands commands) {
  apart_ = std::move(commands);
  apart_next_ = 0;
}

void RespConnection::go_on_apart() {
  CommandCount* const own = running_;
  std::vector<std::string_view> words;
  while (apart_next_ < apart_.size() && !task_ && !held_question_) {
    const std::vector<std::string>& command = apart_[apart_next_++];
    words.assign(command.begin(), command.end());
    execute(words);
    count_known();
  }
  if (running_ != own) {  // EXEC's call is yet to be counted
    count_calls();
    running_ = own;
    last_word_.clear();
  }
  if (apart_next_ < apart_.size()) return;
  give_questions();  // they borrow the words
  apart_.clear();
}

// Most clients send the same command again and again.
const RespCommand* RespConnection::find(std::string_view name) {
  if (name == last_word_ && !name.empty()) return last_command_;  // empty: not to be trusted
  const RespCommand* const command = find_command(name);
  if (command != nullptr) {
    count_calls();
    last_command_ = command;
    running_ = &server_.commands[number_of(*command, nullptr)];
    last_word_ = name;
    last_permitted_ = access_.missing_of(command->needs).none();
  }
  return command;
}

// ---- replies ----

RespWriter RespConnection::writer() {
  give_questions();
  return {tail(), version_};
}

// The place of a reply that comes after all slots.
std::string& RespConnection::tail() {
  if (waiting() == 0) return *out_;
  if (behind_.empty() || behind_.back().id != last_id()) behind_.push_back({last_id()});
  return behind_.back().replies;
}

void RespConnection::count_known() {
  if (behind_.empty()) return;
  Behind& last = behind_.back();
  known_bytes_ += last.replies.size() - std::exchange(last.counted, last.replies.size());
}

void RespConnection::error(std::string_view text) {
  count_error(text, running_);
  writer().error(text);
}

void RespConnection::complain(std::string_view text) {
  count_error(text, nullptr);
  writer().error(text);
}

void RespConnection::count_error(std::string_view text, CommandCount* of) {
  server_.count_error(text);
  if (of != nullptr) ++of->failed;
}

void RespConnection::reply(const Answer& answer, std::string& out) {
  out_ = &out;
  now_ = NodeClock::now();
  settle(std::visit([](const auto& one) { return one.id; }, answer), view_of(answer));
  if (!apart_.empty()) {
    server_.begin_turn(now_);
    go_on_apart();
    settle_figures();
  }
  out_ = nullptr;
}

// A question asked while an answer is being written may be answered at once. That answer waits
// for its turn like any other.
void RespConnection::settle(std::uint64_t id, const RespAnswer& answer, Commit after) {
  if (id != first_ || settling_) {
    const std::size_t bytes =
        sizeof(Early) + answer.values.size() * sizeof(Value) +
        (answer.range != nullptr ? answer.range->counts.size() * sizeof(std::int64_t) : 0) +
        (answer.query != nullptr ? answer.query->reply.size() : 0) +
        (answer.done != nullptr ? answer.done->detail.size() : 0);
    known_bytes_ += bytes;
    early_.emplace(id, Early{copy_of(id, answer), after, bytes});
    return;
  }
  settling_ = true;
  answer_front(answer, after);
  while (!early_.empty() && early_.begin()->first == first_) {
    const auto next = early_.extract(early_.begin());
    known_bytes_ -= next.mapped().bytes;
    answer_front(view_of(next.mapped().answer), next.mapped().after);
  }
  settling_ = false;
}

void RespConnection::answer_front(const RespAnswer& answer, Commit after) {
  wait_for(after);
  Slot& slot = slots_[slots_begin_];
  RespWriter to(*out_, slot.version);
  blamed_ = slot.reply.command;
  if (!slot.reply.write(*this, answer, to)) return;
  if (!behind_.empty() && behind_.front().id == first_) {
    out_->append(behind_.front().replies);
    known_bytes_ -= behind_.front().counted;
    behind_.pop_front();
  }
  keys_begin_ += slot.key_size;
  if (slot.key_size > 0) --changes_open_;
  ++slots_begin_;
  ++first_;
  if (waiting() == 0) {
    forget_all();
  } else if (slots_begin_ > slots_.size() / 2) {  // so that each moves once at most
    slots_.erase(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(slots_begin_));
    slots_begin_ = 0;
    keys_.erase(0, std::exchange(keys_begin_, 0));
  }
  if (held_question_ && changes_open_ == 0) std::exchange(held_question_, nullptr)();
}

// Ten thousand connections must not each keep room for their longest pipeline.
void RespConnection::forget_all() {
  slots_.clear();
  keys_.clear();
  slots_begin_ = keys_begin_ = 0;
  if (slots_.capacity() > kKeptSlots) slots_ = std::vector<Slot>();
  if (keys_.capacity() > kKeptSlots * kMaxKey / 16) std::string().swap(keys_);
}

// Only their order identifies replies. So each waiting request gets one, and a known reply
// behind it stays there.
void RespConnection::refuse(const Status& why, std::string& out) {
  for (std::size_t i = 0; i < waiting(); ++i) {
    RespWriter to(out, version_);
    blamed_ = slots_[slots_begin_ + i].reply.command;
    fail(to, "INDOUBT the connection is closed: it may still count");
    if (behind_.empty() || behind_.front().id != first_ + i) continue;
    out += behind_.front().replies;
    known_bytes_ -= behind_.front().counted;
    behind_.pop_front();
  }
  RespWriter to(out, version_);
  blamed_ = nullptr;
  const bool gone = why.code() == Code::unauthenticated;
  fail(to, (gone ? "NOAUTH " : "ERR Protocol error: ") + why.detail());
  refused_ = true;
}

// ---- questions ----

std::uint64_t RespConnection::expect(Reply reply, std::string_view key) {
  const std::string_view kept = key.substr(0, kMaxKey + 1);  // one extra value is as wrong as any
  keys_.append(kept);
  slots_.push_back({reply, version_, static_cast<std::uint16_t>(kept.size())});
  if (!kept.empty()) ++changes_open_;
  return last_id();
}

Op& RespConnection::new_change(Write write) {
  if (!reads_.empty()) give_reads();
  changes_.push_back({write, running_});
  Op& op = server_.context.ops.emplace_back();
  op.id = last_id() + changes_.size();
  return op;
}

void RespConnection::decide(const Op& op, Write write) {
  change(op, write);
  count_decision();
  if (decisions_ % kDecisionsTogether == 0) give_questions();
}

void RespConnection::change(const Op& op, Write write) {
  Op& given = new_change(write);
  const std::uint64_t id = given.id;
  given = op;
  given.id = id;
}

void RespConnection::read(std::vector<std::string_view> keys, ReadLevel level, Write write) {
  give_questions();
  ask({expect({write, running_}), level, 0, std::move(keys)});
}

void RespConnection::query(Query query, Write write) {
  give_questions();
  query.id = expect({write, running_});
  ask(query);
}

// Some namespace may say another level than local.
void RespConnection::read_by_namespace(Words keys, Write write) {
  read({keys.begin(), keys.end()}, ReadLevel::by_default, write);
}

// Reads of this node's memory are answered at once, a whole pipeline together.
void RespConnection::read_default(Words keys, Write write) {
  if (server_.by_namespace) [[unlikely]]
    return read_by_namespace(keys, write);
  if (!changes_.empty()) give_changes();
  reads_.push_back({{write, running_}, keys.size()});
  std::vector<std::string_view>& all = server_.context.keys;
  all.insert(all.end(), keys.begin(), keys.end());
}

// Only changes or only reads wait at a time, so that they keep their order.
void RespConnection::give_questions() {
  if (!changes_.empty()) give_changes();
  if (!reads_.empty()) give_reads();
}

// The outcome of an add, and the counter's new total, are usually known at once. If no reply
// waits before it, it needs no slot.
void RespConnection::give_changes() {
  std::vector<Reply> replies = std::exchange(changes_, {});
  std::vector<Op> ops = std::exchange(server_.context.ops, {});
  std::vector<AtOnce> known = std::exchange(server_.context.at_once, {});
  server_.context.ask(Protocol::resp, now_, id_, ops, known);
  auto next = known.begin();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const bool told = next != known.end() && next->done.id == ops[i].id;
    if (told && next->done.total && waiting() == 0) {
      wait_for(next->after);
      RespWriter to(*out_, version_);
      [[maybe_unused]] const bool written = replies[i].write(*this, {.done = &next->done}, to);
      QUIPU_CHECK(written, "an add whose total is known at once neither fails nor waits");
      ++first_;
    } else {
      expect(replies[i], ops[i].key);
      if (told) settle(ops[i].id, {.done = &next->done}, next->after);
    }
    if (told) ++next;
  }
  // Not in the order of the ops, or of earlier ones.
  for (; next != known.end(); ++next) settle(next->done.id, {.done = &next->done}, next->after);
  if (replies.capacity() <= kKeptSlots) give_back(replies, changes_);
  give_back(ops, server_.context.ops);
  give_back(known, server_.context.at_once);
}

void RespConnection::give_reads() {
  std::vector<LocalRead> reads = std::exchange(reads_, {});
  std::vector<std::string_view> keys = std::exchange(server_.context.keys, {});
  std::vector<Value> values = std::exchange(server_.context.values, {});
  values.resize(keys.size());
  server_.context.read_now(now_, keys, values);
  std::size_t begin = 0, later = 0;
  for (const LocalRead& read : reads) {
    const std::span<const Value> known = std::span(values).subspan(begin, read.keys);
    const auto wanted = std::span(keys).subspan(begin, read.keys);
    begin += read.keys;
    if (std::ranges::all_of(known, [](const Value& value) { return value.shards > 0; })) {
      RespWriter to(tail(), version_);
      blamed_ = read.reply.command;
      read.reply.write(*this, {.values = known}, to);
      count_known();
    } else {
      ++later;
      Read& asked = server_.context.local_read;
      asked.id = expect(read.reply);
      asked.keys.assign(wanted.begin(), wanted.end());
      ask(asked);
    }
  }
  server_.context.meter.on_read(Protocol::resp, now_, reads.size() - later);
  if (reads.capacity() <= kKeptSlots) give_back(reads, reads_);
  give_back(keys, server_.context.keys);
  server_.context.values = std::move(values);
}

void RespConnection::run(Task task) {
  give_questions();
  task_ = std::move(task);
  expect({run_task, running_});
}

bool RespConnection::run_task(RespConnection& connection, const RespAnswer& answer,
                              RespWriter& to) {
  if (!connection.task_(answer, to)) return false;
  connection.task_ = nullptr;
  return true;
}

void RespConnection::again(std::vector<Op> ops) {
  for (Op& op : ops) op.id = last_id();
  std::vector<AtOnce> known = std::exchange(server_.context.at_once, {});
  server_.context.ask(Protocol::resp, now_, id_, ops, known);
  for (const AtOnce& one : known) settle(one.done.id, {.done = &one.done}, one.after);
  give_back(known, server_.context.at_once);
}

void RespConnection::again(std::vector<std::string_view> keys, ReadLevel level) {
  ask({last_id(), level, 0, std::move(keys)});
}

void RespConnection::again(List list) {
  list.id = last_id();
  server_.context.ask(now_, id_, list);
}

void RespConnection::again(CountKeys size) {
  size.id = last_id();
  server_.context.ask(now_, id_, size);
}

void RespConnection::again(RangeRequest request) {
  request.id = last_id();
  ask(request);
}

void RespConnection::again(Query query) {
  query.id = last_id();
  ask(query);
}

void RespConnection::again(NamespaceRequest request) {
  request.id = last_id();
  server_.context.ask(now_, id_, request);
}

std::size_t RespConnection::again(const ClientFilter& killed) {
  return server_.kill(id_, last_id(), killed);
}

bool RespConnection::holds_alone(std::string_view key) const {
  Value value;
  server_.context.read_now(now_, std::span(&key, 1), std::span(&value, 1));
  return value.shards == 1;
}

void RespConnection::read_front() {
  const auto key = std::string_view(keys_).substr(keys_begin_, slots_[slots_begin_].key_size);
  ask({first_, ReadLevel::local, 0, {key}});
}

// ---- the order of a client's changes and questions ----

template <class Question>
void RespConnection::give_now(const Question& question) {
  server_.context.ask(now_, id_, question);
}

// Whether another node than the one that has the client's changes may answer.
bool RespConnection::asks_others(std::string_view key, ReadLevel level) const {
  if (level != ReadLevel::by_default) return level != ReadLevel::local;
  return server_.by_namespace &&
         server_.namespaces().policy_of(key).read.value_or(ReadLevel::local) != ReadLevel::local;
}

void RespConnection::ask(const Read& read) {
  const auto others = [&](std::string_view key) { return asks_others(key, read.level); };
  if (changes_open_ == 0 || std::ranges::none_of(read.keys, others)) return give_now(read);
  held_question_ = [this, read = Read(read),
                    keys = std::vector<std::string>(read.keys.begin(), read.keys.end())]() mutable {
    read.keys.assign(keys.begin(), keys.end());
    give_now(read);
  };
}

void RespConnection::ask(const Query& query) {
  const auto others = [&](std::string_view key) {
    return changes_at_home(shard_of(query.kind)) || asks_others(key, query.level);
  };
  if (changes_open_ == 0 || std::ranges::none_of(query.keys, others)) return give_now(query);
  held_question_ = [this, query = Query(query), words = std::string(query.words),
                    keys =
                        std::vector<std::string>(query.keys.begin(), query.keys.end())]() mutable {
    query.words = words;
    query.keys.assign(keys.begin(), keys.end());
    give_now(query);
  };
}

void RespConnection::ask(const RangeRequest& request) {
  if (changes_open_ == 0 || !asks_others(request.key, request.level)) return give_now(request);
  held_question_ = [this, request = RangeRequest(request),
                    key = std::string(request.key)]() mutable {
    request.key = key;
    give_now(request);
  };
}

// ---- itself ----

// Earlier commands are answered in the old protocol.
void RespConnection::use(RespWriter::Version version) {
  give_questions();
  version_ = version;
}

void RespConnection::reset() {
  use(RespWriter::Version::resp2);
  select(0);
  set(kDatabaseRefused, false);
  set(kWatchRefused, false);
  (void)take_transaction();
  labels_.name.clear();
  access_.log_out();
  on_access();
}

void RespConnection::select(std::uint32_t database) {
  database_ = database;
  set(kInDatabase, database != 0);
  if (database != 0) server_.databases.insert(database);
  prefix_ = database == 0 ? std::string() : "db" + std::to_string(database) + ':';
}

std::string RespConnection::describe(Instant now, std::size_t arguments) const {
  const auto seconds = [now](Instant since) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now - since).count());
  };
  const auto number = [](std::size_t value) { return std::to_string(value); };
  const RespPeer::Buffered held = peer_.buffered();
  const std::size_t memory = sizeof(RespConnection) + held.session + held.requests +
                             held.reply_room + known_bytes_ + slots_.capacity() * sizeof(Slot) +
                             keys_.capacity() + kept();
  // Replies wait in one piece.
  const std::string buffers =
      " qbuf=" + number(unread_) +
      " qbuf-free=" + number(held.requests - std::min(held.requests, unread_)) +
      " argv-mem=" + number(arguments) + " multi-mem=" + number(kept()) +
      " rbs=" + number(held.reply_room) + " obl=" + number(held.replies) +
      " oll=0 omem=" + number(held.replies + known_bytes_) + " tot-mem=" + number(memory) +
      (held.replies > 0 ? " events=rw" : " events=r");
  std::string line = "id=" + std::to_string(raw(id_)) + " addr=" + peer_.remote +
                     " laddr=" + peer_.local + " fd=" + std::to_string(peer_.descriptor) +
                     " name=" + labels_.name + " age=" + seconds(peer_.since) +
                     " idle=" + seconds(last_) + " flags=" + (transaction_ ? "x" : "N") +
                     " db=" + std::to_string(database_) + " sub=0 psub=0 ssub=0 multi=" +
                     (transaction_ ? number(transaction_->commands().size()) : "-1") + " watch=0" +
                     buffers + " cmd=";
  line.append(last_command_ == nullptr ? "NULL" : last_command_->name);
  if (last_subcommand_ != nullptr) line.append("|").append(last_subcommand_->name);
  line.append(" user=").append(access_.authenticated() ? permit().user() : "(none)");
  line.append(" redir=-1 resp=").append(version_ == RespWriter::Version::resp2 ? "2" : "3");
  line.append(" lib-name=").append(labels_.library);
  line.append(" lib-ver=").append(labels_.library_version);
  return line;
}

}  // namespace quipu
