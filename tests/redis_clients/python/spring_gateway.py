#!/usr/bin/python3 -B
"""spring_gateway.py: what Spring Cloud Gateway's RequestRateLimiter sends, a token bucket: a script
of TIME, GET and SETEX of two keys, the tokens left and the second in which they were counted.

The script here makes the calls of request_rate_limiter.lua, in its order. Its versions differ in
the clock: the caller's, in seconds; the server's, in seconds; and lately the server's, in
microseconds. The last one stores fractions, which Quipu refuses."""
import time

from connection import Connection
from expect import PORTS, expect, expect_lifetime, expect_soon, expect_within

SCRIPT = """
redis.replicate_commands()
local rate, capacity, requested = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local now = tonumber(ARGV[3])
if not now then
  local clock = redis.call('TIME')
  now = CLOCK
end
local ttl = math.floor(capacity / rate * 2)
local tokens = tonumber(redis.call('get', KEYS[1])) or capacity
local counted = tonumber(redis.call('get', KEYS[2])) or 0
tokens = math.min(capacity, tokens + math.max(0, now - counted) * rate)
local admitted = tokens >= requested
if admitted then tokens = tokens - requested end
if ttl > 0 then
  redis.call('setex', KEYS[1], ttl, tokens)
  redis.call('setex', KEYS[2], ttl, now)
end
return { admitted and 1 or 0, tokens }
"""
IN_SECONDS = SCRIPT.replace("CLOCK", "clock[1]")
IN_MICROSECONDS = SCRIPT.replace("CLOCK", "clock[1] + clock[2] / 1000000")

nodes = [Connection(port) for port in PORTS]
first, last = nodes[0], nodes[-1]


def keys_of(who):
    return [f"request_rate_limiter.{{{who}}}.tokens", f"request_rate_limiter.{{{who}}}.timestamp"]


# Returns whether the request was admitted, and the tokens left.
def request(node, who, rate, capacity, now="", cost=1, script=IN_SECONDS):
    return node.run(script, keys_of(who), [rate, capacity, now, cost])


def stored(who):
    return [node.ask("MGET", *keys_of(who)) for node in nodes]


def a_bucket_is_emptied_and_refilled():
    now = 1718000000
    replies = [request(first, "ada", 2, 50, now, cost=10) for _ in range(6)]
    wanted = [[1, 40], [1, 30], [1, 20], [1, 10], [1, 0], [0, 0]]
    expect(replies, wanted, "six requests in a second")
    expect_within(first.ask("TTL", keys_of("ada")[0]), 40, 50, "TTL of the tokens")
    expect_within(first.ask("TTL", keys_of("ada")[1]), 40, 50, "TTL of the second")
    expect_soon(lambda: stored("ada"), [["0", str(now)]] * len(nodes), "an empty bucket")
    expect(request(last, "ada", 2, 50, now, cost=10), [0, 0], "a request to the last node")
    expect(request(last, "ada", 2, 50, now + 6, cost=10), [1, 2], "a request 6 s later")
    expect_soon(lambda: stored("ada"), [["2", str(now + 6)]] * len(nodes), "what is left")
    expect(request(first, "ada", 2, 50, now + 100, cost=10), [1, 40], "a request 100 s later")


# One request per minute: a token per second, sixty for each request.
def the_clock_is_the_servers():
    began = int(time.time())
    expect(request(first, "bob", 1, 60, cost=60), [1, 0], "the first request of a minute")
    second = int(first.ask("GET", keys_of("bob")[1]))
    expect_within(second, began - 1, began + 10, "the second that the server stored")
    expect_soon(lambda: stored("bob"), [["0", str(second)]] * len(nodes), "on all nodes")
    admitted, tokens = request(last, "bob", 1, 60, cost=60)
    expect(admitted, 0, "the second request of a minute")
    expect_within(tokens, 0, 30, "the tokens of the second request")


def an_unused_bucket_ends():
    now = 1718000000
    began = time.monotonic()
    expect(request(first, "cyd", 1, 1, now), [1, 0], "a request of one per second")
    expect(request(first, "cyd", 1, 1, now), [0, 0], "another in the same second")
    expect_soon(lambda: stored("cyd"), [["0", str(now)]] * len(nodes), "a bucket of one")
    ended = expect_soon(lambda: stored("cyd"), [[None, None]] * len(nodes), "its end")
    expect_lifetime(began, ended, 2)
    expect(request(last, "cyd", 1, 1, now), [1, 0], "a request of the next bucket")


# What would live for less than a second is not stored.
def a_fast_bucket_is_not_stored():
    expect(request(first, "eve", 3, 1, 1718000000), [1, 0], "a request of three per second")
    expect(first.ask("EXISTS", *keys_of("eve")), 0, "EXISTS of what was not stored")


# The gateway admits a request whose script fails, so this version cannot be used.
def fractions_are_refused():
    refused = request(first, "fay", 1, 60, script=IN_MICROSECONDS)
    expect(str(refused)[:1], "-", f"{refused!r}, the first byte of a refusal")
    expect(first.ask("GET", keys_of("fay")[1]), None, "GET of a refused fraction")


a_bucket_is_emptied_and_refilled()
the_clock_is_the_servers()
an_unused_bucket_ends()
a_fast_bucket_is_not_stored()
if "quipu_version" in first.ask("INFO", "server"):
    fractions_are_refused()
