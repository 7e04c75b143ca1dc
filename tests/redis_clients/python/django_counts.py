#!/usr/bin/python3 -B
"""django_counts.py: what Debian's python3-django-redis sends as a script (EVAL: incr and decr) and
as a transaction (MULTI: set_many)."""
import time

from django_caches import NAMES, caches
from expect import expect, expect_lifetime, expect_soon, expect_within, fail

nodes = [caches[name] for name in NAMES]
first, last = nodes[0], nodes[-1]


def on_all(call):
    return [call(cache) for cache in nodes]


def expect_count(key, wanted, what):
    return expect_soon(lambda: on_all(lambda cache: cache.get(key)), [wanted] * len(nodes), what)


# After a refused script, django-redis counts with TTL, GET and SET, and loses what others count
# meanwhile. Returns the result of an incr that did not.
def incr_by_script(cache, key):
    cache.client.ttl = lambda *_, **__: fail("EVAL was refused, and incr went on with TTL")
    value = cache.incr(key)
    del cache.client.ttl
    return value


def incr_keeps_the_deadline():
    expect(first.set("views", 5, timeout=60), True, "set")
    expect(first.incr("views"), 6, "incr")
    expect(first.incr("views", 4), 10, "incr by 4")
    expect(first.decr("views", 3), 7, "decr by 3")
    expect_within(first.pttl("views"), 50_000, 60_000, "pttl after incr")
    expect(incr_by_script(first, "views"), 8, "incr by the script")
    expect_count("views", 8, "get on all nodes")
    expect(last.incr("views"), 9, "incr on the last node")
    expect_within(last.pttl("views"), 50_000, 60_000, "pttl on the last node")
    expect_count("views", 9, "get of the sum on all nodes")


def incr_needs_a_counter():
    try:
        first.incr("nothing")
    except ValueError as error:
        expect("not found" in str(error), True, f"'{error}': 'not found' in it")
    else:
        fail("incr of nothing raised no ValueError")
    expect(first.get("nothing"), None, "get after incr of nothing")
    expect(first.incr("nothing", 3, ignore_key_check=True), 3, "incr with ignore_key_check")
    expect(first.ttl("nothing"), None, "ttl after incr with ignore_key_check")


def a_counted_limit_opens_again():
    began = time.monotonic()
    expect(first.add("login", 0, timeout=2), True, "add of a limit")
    expect([first.incr("login") for _ in range(3)], [1, 2, 3], "three logins")
    expect_count("login", 3, "get of a limit on all nodes")
    on_all(lambda cache: cache.incr("login"))
    expect_count("login", 3 + len(nodes), "get of the sum of all nodes")
    ended = expect_count("login", None, "get after the end")
    expect_lifetime(began, ended, 2)
    expect(last.add("login", 0, timeout=60), True, "add after the end")
    expect(last.incr("login"), 1, "the first login after the end")
    expect_count("login", 1, "get of the next life")


def all_nodes_count_together():
    expect(first.set("visits", 0, timeout=60), True, "set of visits")
    expect_count("visits", 0, "get of visits on all nodes")
    for _ in range(20):
        on_all(lambda cache: cache.incr("visits", 2))
    expect_count("visits", 40 * len(nodes), "the sum of all visits")


def set_many_is_a_transaction():
    first.set_many({"a": 1, "b": 2, "c": 3}, timeout=60)
    expect(first.get_many(["a", "b", "c"]), {"a": 1, "b": 2, "c": 3}, "get_many after set_many")
    for key in "abc":
        expect_within(first.pttl(key), 50_000, 60_000, f"pttl of {key} after set_many")
        expect_count(key, "abc".index(key) + 1, f"get of {key} on all nodes")
    last.set_many({"b": -7, "d": 9223372036854775807}, timeout=None)
    expect_count("b", -7, "get of what set_many replaced")
    expect_count("d", 9223372036854775807, "get of the greatest number")
    expect(last.ttl("b"), None, "ttl after set_many for ever")
    last.set_many({"a": 1, "c": 1}, timeout=0)
    expect_count("a", None, "get after set_many for no time")
    expect_count("c", None, "get after set_many for no time")
    expect(last.incr("b", 10), 3, "incr after set_many")


incr_keeps_the_deadline()
incr_needs_a_counter()
a_counted_limit_opens_again()
all_nodes_count_together()
set_many_is_a_transaction()
