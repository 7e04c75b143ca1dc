// hiredis_client.cpp: hiredis, which most clients for C and C++ are built on.
#include <hiredis/hiredis.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

namespace {

using Context = std::unique_ptr<redisContext, decltype(&redisFree)>;

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

[[noreturn]] void fail(const std::string& why) {
  std::cerr << "hiredis_client: " << why << '\n';
  std::exit(1);
}

void expect(bool holds, const std::string& what) {
  if (!holds) fail("not so: " + what);
}

Context connect(int port) {
  const timeval patience{.tv_sec = 60, .tv_usec = 0};
  Context context(redisConnectWithTimeout("127.0.0.1", port, patience), redisFree);
  if (context == nullptr || context->err != 0) fail("cannot connect");
  if (redisSetTimeout(context.get(), patience) != REDIS_OK) fail("cannot set a timeout");
  return context;
}

Reply next(const Context& context) {
  void* reply = nullptr;
  if (redisGetReply(context.get(), &reply) != REDIS_OK) fail(&context->errstr[0]);
  return Reply(static_cast<redisReply*>(reply));
}

Reply ask(const Context& context, const char* request) {
  if (redisAppendCommand(context.get(), request) != REDIS_OK) fail(&context->errstr[0]);
  return next(context);
}

std::string text(const Reply& reply) { return {reply->str, reply->len}; }

void logs_in(const Context& context, const char* user, const char* secret) {
  const std::string request = std::string("AUTH ") + user + ' ' + secret;
  const Reply fine = ask(context, request.c_str());
  expect(fine->type == REDIS_REPLY_STATUS && text(fine) == "OK", "AUTH says +OK");
}

void asks_one_by_one(const Context& context) {
  const Reply pong = ask(context, "PING");
  expect(pong->type == REDIS_REPLY_STATUS && text(pong) == "PONG", "PING says +PONG");
  const Reply total = ask(context, "INCRBY likes 42");
  expect(total->type == REDIS_REPLY_INTEGER && total->integer == 42, "INCRBY says :42");
  const Reply value = ask(context, "GET likes");
  expect(value->type == REDIS_REPLY_STRING && text(value) == "42", "GET says 42");
  expect(ask(context, "GET nothing")->type == REDIS_REPLY_NIL, "GET of nothing says nil");
  const Reply values = ask(context, "MGET likes nothing");
  expect(values->type == REDIS_REPLY_ARRAY && values->elements == 2, "MGET says two values");
  const Reply error = ask(context, "INCRBY likes many");
  expect(error->type == REDIS_REPLY_ERROR &&
             text(error) == "ERR value is not an integer or out of range",
         "INCRBY of no number says a REDIS_REPLY_ERROR");
  expect(ask(context, "LPUSH likes 1")->type == REDIS_REPLY_ERROR, "LPUSH says an error");
  expect(ask(context, "EXPIRE likes 1000 NX")->integer == 1, "EXPIRE NX says 1");
  expect(ask(context, "EXPIRE likes 1000 NX")->integer == 0, "EXPIRE NX of an end says 0");
  expect(ask(context, "PERSIST likes")->integer == 1, "PERSIST says 1");
  expect(ask(context, "SET likes 1 NX")->type == REDIS_REPLY_NIL, "SET NX says nil");
}

void pipelines(const Context& context) {
  constexpr int kDepth = 10'000;
  for (int i = 0; i < kDepth; ++i) {
    if (redisAppendCommand(context.get(), "INCR %s", "pipelined") != REDIS_OK)
      fail(&context->errstr[0]);
  }
  for (int i = 1; i <= kDepth; ++i) {
    const Reply reply = next(context);
    expect(reply->type == REDIS_REPLY_INTEGER && reply->integer == i,
           "reply " + std::to_string(i) + " of a pipeline of INCRs is its number");
  }
}

// hiredis reads RESP3 from its version 1 on; Debian 12 has 0.14.
void greets(const Context& context) {
#if HIREDIS_MAJOR >= 1
  const Reply greeting = ask(context, "HELLO 3");
  expect(greeting->type == REDIS_REPLY_MAP && greeting->elements == 14, "HELLO 3 says a map");
  expect(ask(context, "GET nothing")->type == REDIS_REPLY_NIL, "RESP3's null is a nil");
  expect(ask(context, "INCR in3")->integer == 1, "INCR counts in RESP3");
#else
  const Reply greeting = ask(context, "HELLO 2");
  expect(greeting->type == REDIS_REPLY_ARRAY && greeting->elements == 14, "HELLO 2 says pairs");
#endif
}

}  // namespace

int main() {
  const char* const port = std::getenv("QUIPU_PORT");
  if (port == nullptr) fail("QUIPU_PORT is not set: use tests/redis_clients/run");
  const Context context = connect(std::atoi(port));
  const char* const user = std::getenv("QUIPU_USER");
  if (user != nullptr) logs_in(context, user, std::getenv("QUIPU_SECRET"));
  asks_one_by_one(context);
  pipelines(context);
  greets(context);
  const Reply quit = ask(context, "QUIT");
  expect(quit->type == REDIS_REPLY_STATUS && text(quit) == "OK", "QUIT says +OK");
}
