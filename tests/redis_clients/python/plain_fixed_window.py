#!/usr/bin/python3 -B
"""plain_fixed_window.py: Debian's python3-limits, with the fixed window whose end stays: a script
(SCRIPT LOAD, EVALSHA) of INCRBY and EXPIRE."""
import time

from limits import parse, storage
from limits.strategies import FixedWindowRateLimiter

from expect import PORTS, expect, expect_lifetime, expect_soon, expect_within

# A limiter does not keep its storage alive.
storages = [
    storage.storage_from_string(f"redis://127.0.0.1:{port}", socket_timeout=60) for port in PORTS
]
limiters = [FixedWindowRateLimiter(one) for one in storages]
first, last = limiters[0], limiters[-1]
minute = parse("3 per 1 minute")
moment = parse("3 per 2 second")


def on_all(call):
    return [call(limiter) for limiter in limiters]


def remaining(limit, who):
    return on_all(lambda one: one.get_window_stats(limit, who)[1])


def refuses_over_the_limit(who):
    expect(first.test(minute, who), True, "test of an unused limit")
    expect([first.hit(minute, who) for _ in range(2)], [True, True], "two hits")
    expect(first.get_window_stats(minute, who)[1], 1, "remaining after two hits")
    expect([first.hit(minute, who) for _ in range(2)], [True, False], "two more hits")
    expect_within(first.get_window_stats(minute, who)[0] - time.time(), 50, 60, "reset time")
    closed = [False] * len(limiters)
    expect_soon(lambda: on_all(lambda one: one.test(minute, who)), closed, "test on all nodes")
    expect(last.hit(minute, who), False, "a hit on the last node")
    last.clear(minute, who)
    opened = [True] * len(limiters)
    expect_soon(lambda: on_all(lambda one: one.test(minute, who)), opened, "test after clear")
    expect(last.hit(minute, who), True, "a hit after clear")


def a_hit_has_a_cost(who):
    expect(first.hit(minute, who, cost=2), True, "a hit of cost 2")
    expect_within(storages[0].storage.ttl(minute.key_for(who)), 50, 60, "ttl of cost 2")
    expect_soon(lambda: remaining(minute, who), [1] * len(limiters), "remaining on all nodes")
    expect(last.hit(minute, who, cost=2), False, "another hit of cost 2")
    expect_soon(lambda: remaining(minute, who), [0] * len(limiters), "remaining on all nodes")


def a_refused_hit_does_not_move_the_end(who):
    key = moment.key_for(who)
    began = time.monotonic()
    expect([first.hit(moment, who) for _ in range(3)], [True] * 3, "three hits")
    left = storages[0].storage.pttl(key)
    expect_within(left, 1, 2000, "pttl after three hits")
    expect(first.hit(moment, who), False, "a hit over the limit")
    expect_within(storages[0].storage.pttl(key), 1, left, "pttl after the refused hit")
    closed = [False] * len(limiters)
    expect_soon(lambda: on_all(lambda one: one.test(moment, who)), closed, "test on all nodes")

    opened = [True] * len(limiters)
    ended = expect_soon(
        lambda: on_all(lambda one: one.test(moment, who)), opened, "test at the end"
    )
    expect_lifetime(began, ended, 2)
    expect(last.hit(moment, who), True, "the first hit of the next window")
    expect(last.get_window_stats(moment, who)[1], 2, "remaining in the next window")


def all_nodes_count_together(who):
    limit = parse("1000 per 1 minute")
    expect(first.hit(limit, who), True, "a hit of a shared limit")
    expect_soon(lambda: remaining(limit, who), [999] * len(limiters), "remaining on all nodes")
    for _ in range(20):
        expect(on_all(lambda one: one.hit(limit, who)), [True] * len(limiters), "hits on all nodes")
    left = 999 - 20 * len(limiters)
    expect_soon(lambda: remaining(limit, who), [left] * len(limiters), "remaining of the sum")


# redis-py loads the script again when EVALSHA says NOSCRIPT.
def a_forgotten_script_is_loaded_again(who):
    expect(first.hit(minute, who), True, "a hit")
    expect(storages[0].storage.script_flush(), True, "SCRIPT FLUSH")
    sha = storages[0].lua_incr_expire.sha
    expect(storages[0].storage.script_exists(sha), [False], "SCRIPT EXISTS after the flush")
    expect(first.hit(minute, who), True, "a hit after SCRIPT FLUSH")
    expect(storages[0].storage.script_exists(sha), [True], "SCRIPT EXISTS after the hit")
    expect(first.get_window_stats(minute, who)[1], 1, "remaining after SCRIPT FLUSH")


refuses_over_the_limit("ada")
a_hit_has_a_cost("bob")
a_refused_hit_does_not_move_the_end("cyd")
all_nodes_count_together("all")
a_forgotten_script_is_loaded_again("eve")
