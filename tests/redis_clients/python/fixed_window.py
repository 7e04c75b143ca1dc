#!/usr/bin/python3 -B
"""fixed_window.py: Debian's python3-limits, with the fixed window whose end moves with each hit.
(That whose end stays: plain_fixed_window.py.)"""
import time

from limits import parse, storage
from limits.strategies import FixedWindowElasticExpiryRateLimiter

from expect import PORTS, expect, expect_lifetime, expect_soon, expect_within

# A limiter does not keep its storage alive.
storages = [
    storage.storage_from_string(f"redis://127.0.0.1:{port}", socket_timeout=60) for port in PORTS
]
limiters = [FixedWindowElasticExpiryRateLimiter(one) for one in storages]
first, last = limiters[0], limiters[-1]
limit = parse("3 per 2 second")


def on_all(call):
    return [call(limiter) for limiter in limiters]


def refuse_until_the_window_ends(who):
    expect(first.test(limit, who), True, "test of an unused limit")
    expect([first.hit(limit, who) for _ in range(2)], [True, True], "two hits")
    began = time.monotonic()
    expect(first.hit(limit, who), True, "the third hit")
    expect_within(first.get_window_stats(limit, who)[0] - time.time(), 0, 2, "reset time")
    expect(first.get_window_stats(limit, who)[1], 0, "remaining hits")
    closed = [False] * len(limiters)
    expect_soon(lambda: on_all(lambda one: one.test(limit, who)), closed, "test on all nodes")

    opened = [True] * len(limiters)
    ended = expect_soon(lambda: on_all(lambda one: one.test(limit, who)), opened, "test at the end")
    expect_lifetime(began, ended, 2)
    expect(last.hit(limit, who), True, "the first hit of the next window")
    expect(last.get_window_stats(limit, who)[1], 2, "remaining hits of the next window")


def a_refused_hit_moves_the_end(who):
    expect([first.hit(limit, who) for _ in range(3)], [True] * 3, "three hits")
    closed = [False] * len(limiters)
    expect_soon(lambda: on_all(lambda one: one.test(limit, who)), closed, "test on all nodes")
    began = time.monotonic()
    expect(last.hit(limit, who), False, "a hit over the limit")
    opened = [True] * len(limiters)
    ended = expect_soon(lambda: on_all(lambda one: one.test(limit, who)), opened, "test at the end")
    expect_lifetime(began, ended, 2)


def clear_opens_it(who):
    expect([first.hit(limit, who) for _ in range(4)], [True] * 3 + [False], "four hits")
    first.clear(limit, who)
    expect(first.hit(limit, who), True, "a hit after clear")


refuse_until_the_window_ends("ada")
a_refused_hit_moves_the_end("bob")
clear_opens_it("eve")
