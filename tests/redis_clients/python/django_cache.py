#!/usr/bin/python3 -B
"""django_cache.py: Debian's python3-django-redis as Django's cache: add, touch, and the counts of
its Redis connection. (Its incr and set_many: django_counts.py.)"""
import time

from django_caches import NAMES, caches  # sets Django up
from django_redis import get_redis_connection
from expect import expect, expect_lifetime, expect_soon, expect_within

first, last = caches[NAMES[0]], caches[NAMES[-1]]


def on_all(call):
    return [call(caches[name]) for name in NAMES]


def count(name, key):
    return get_redis_connection(name).incr(caches[name].make_key(key))


def add_and_touch_set_deadlines():
    expect(first.add("lock", 1, timeout=60), True, "add")
    expect(first.add("lock", 2, timeout=1), False, "add of what is there")
    expect(first.get("lock"), 1, "get")
    expect_within(first.pttl("lock"), 55_000, 60_000, "pttl after add")
    expect(first.touch("lock", 600), True, "touch")
    expect_within(first.ttl("lock"), 590, 600, "ttl after touch")
    expect(first.touch("lock", None), True, "touch for ever")
    expect(first.ttl("lock"), None, "ttl after touch for ever")
    expect(first.touch("nothing", 600), False, "touch of nothing")
    expect(first.ttl("nothing"), 0, "ttl of nothing")
    expect(first.set("lock", 5, timeout=60, nx=True), False, "set nx")
    expect(first.get_or_set("lock", 7, 60), 1, "get_or_set")
    expect(first.get_many(["lock", "nothing"]), {"lock": 1}, "get_many")
    expect(first.delete("lock"), True, "delete")
    expect(first.has_key("lock"), False, "has_key after delete")
    expect(first.set("brief", 1, timeout=60), True, "set")
    expect(first.set("brief", 2, timeout=0), True, "set for no time, which deletes")
    expect(first.get("brief"), None, "get of what was set for no time")


def a_limit_opens_again():
    began = time.monotonic()
    expect(first.add("login", 0, timeout=2), True, "add of a limit")
    expect([count(NAMES[0], "login") for _ in range(5)], [1, 2, 3, 4, 5], "five logins")
    expect_within(first.pttl("login"), 1, 2000, "pttl of a limit")
    expect_soon(lambda: on_all(lambda cache: cache.get("login")), [5] * len(NAMES), "get on all")
    expect(last.add("login", 0, timeout=60), False, "add on the last node")
    for name in NAMES:
        count(name, "login")
    total = 5 + len(NAMES)
    expect_soon(lambda: on_all(lambda cache: cache.get("login")), [total] * len(NAMES), "the sum")

    ended = expect_soon(
        lambda: on_all(lambda cache: cache.get("login")), [None] * len(NAMES), "get after the end"
    )
    expect_lifetime(began, ended, 2)
    expect(last.add("login", 0, timeout=60), True, "add after the end")
    expect(count(NAMES[-1], "login"), 1, "the first login after the end")
    expect_soon(lambda: on_all(lambda cache: cache.get("login")), [1] * len(NAMES), "the next life")
    expect(first.keys("*"), ["login"], "keys")
    expect(first.delete_pattern("log*"), 1, "delete_pattern")


add_and_touch_set_deadlines()
a_limit_opens_again()
