#!/usr/bin/python3 -B
"""apisix_limit_count.py: what APISIX's limit-count sends with its policy `redis`: a script of one
key. Older versions store what remains (TTL, SET EX, INCRBY of a negative number), and newer ones
what was counted (PTTL, SET EX, INCRBY). The scripts here make the same calls, in their order."""
import time
from concurrent.futures import ThreadPoolExecutor

from connection import Connection
from expect import PORTS, expect, expect_lifetime, expect_soon, expect_within

# ARGV: the limit, the seconds of a window, the cost of a request. Replies: what remains or was
# counted, and the seconds or milliseconds until the window ends.
COUNT_DOWN = """
assert(tonumber(ARGV[3]) >= 1, 'a request costs at least 1')
local left = redis.call('ttl', KEYS[1])
if left >= 0 then
  return { redis.call('incrby', KEYS[1], 0 - ARGV[3]), left }
end
redis.call('set', KEYS[1], ARGV[1] - ARGV[3], 'EX', ARGV[2])
return { ARGV[1] - ARGV[3], ARGV[2] }
"""
COUNT_UP = """
assert(tonumber(ARGV[3]) >= 0, 'a request costs at least 0')
local left = redis.call('pttl', KEYS[1])
if left >= 0 then
  return { redis.call('incrby', KEYS[1], ARGV[3]), left }
end
redis.call('set', KEYS[1], ARGV[3], 'EX', ARGV[2])
return { ARGV[3], ARGV[2] * 1000 }
"""

nodes = [Connection(port) for port in PORTS]
first, last = nodes[0], nodes[-1]


def stored(key):
    return [node.ask("GET", key) for node in nodes]


# Returns what remains of a limit of 3. It is below zero if the request is refused.
def remaining(node, script, key, seconds, cost=1):
    count, _left = node.run(script, [key], [3, seconds, cost])
    return int(count) if script == COUNT_DOWN else 3 - int(count)


# `full` is what is stored after four requests: the count, or what remains.
def refuses_over_the_limit(script, key, full):
    expect([remaining(first, script, key, 60) for _ in range(4)], [2, 1, 0, -1], "four requests")
    expect_within(first.ask("TTL", key), 50, 60, "TTL of a window")
    expect_soon(lambda: stored(key), [str(full)] * len(nodes), "the count on all nodes")
    expect(remaining(last, script, key, 60), -2, "a request to the last node")
    expect(remaining(last, script, key, 60, cost=5), -7, "a request of cost 5")
    expect(last.ask("DEL", key), 1, "DEL")
    expect_soon(lambda: stored(key), [None] * len(nodes), "the count after DEL")
    expect(remaining(first, script, key, 60, cost=2), 1, "a request of cost 2 after DEL")


def opens_again(script, key, full):
    began = time.monotonic()
    expect([remaining(first, script, key, 2) for _ in range(4)], [2, 1, 0, -1], "four requests")
    expect_soon(lambda: stored(key), [str(full)] * len(nodes), "the count of a short window")
    ended = expect_soon(lambda: stored(key), [None] * len(nodes), "the end of a short window")
    expect_lifetime(began, ended, 2)
    expect(remaining(last, script, key, 60), 2, "the first request of the next window")


def replies_have_the_time_that_is_left():
    expect(first.run(COUNT_DOWN, ["down"], [3, 60, 1]), [2, "60"], "the first reply, counting down")
    expect_within(first.run(COUNT_DOWN, ["down"], [3, 60, 1])[1], 50, 60, "the next one's seconds")
    expect(first.run(COUNT_UP, ["up"], [3, 60, 1]), ["1", 60_000], "the first reply, counting up")
    expect_within(first.run(COUNT_UP, ["up"], [3, 60, 1])[1], 50_000, 60_000, "the next one's ms")


def a_failed_assertion_changes_nothing():
    reply = first.run(COUNT_DOWN, ["free"], [3, 60, 0])
    expect("a request costs at least 1" in str(reply), True, f"the assertion's text in {reply!r}")
    expect(first.ask("EXISTS", "free"), 0, "EXISTS after a failed assertion")


# In a namespace with DECIDE HOME, one node runs all scripts of a counter, whichever node is asked.
# So no two requests get the same count. (A Redis has one node and no namespaces.)
def one_node_decides():
    if "quipu_version" in first.ask("INFO", "server"):
        words = ["exact", "DECIDE", "HOME"]
        first.ask("QUIPU.NAMESPACE", "CREATE", *words)
        expect_soon(
            lambda: first.ask("QUIPU.NAMESPACE", "SET", *words), [], "members without the namespace"
        )
    requests = [("EVAL", COUNT_UP, 1, "exact:users", 3, 60, 1)] * 20
    with ThreadPoolExecutor(len(nodes)) as pool:
        replies = pool.map(lambda node: node.pipeline(*requests), nodes)
    counts = sorted(int(count) for of_one in replies for count, _left in of_one)
    expect(counts, list(range(1, 20 * len(nodes) + 1)), "the counts of requests to all nodes")


for name, script, full in [("down", COUNT_DOWN, -1), ("up", COUNT_UP, 4)]:
    refuses_over_the_limit(script, f"plugin-limit-count-minute-{name}", full)
    opens_again(script, f"plugin-limit-count-moment-{name}", full)
replies_have_the_time_that_is_left()
a_failed_assertion_changes_nothing()
one_node_decides()
