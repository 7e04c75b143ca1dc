#!/usr/bin/python3
"""python_redis.py: Debian's python3-redis, which Debian's python finds."""
import os
import sys

import redis

PORT = int(os.environ["QUIPU_PORT"])
CA = os.environ.get("QUIPU_CA")
TLS = {"ssl": True, "ssl_ca_certs": CA, "ssl_check_hostname": True} if CA else {}


def expect(got, wanted, what):
    if got != wanted:
        sys.exit(f"python_redis.py: {what} gave {got!r}, not {wanted!r}")


def expect_error(call, wanted, what):
    try:
        got = call()
    except redis.ResponseError as error:
        return expect(str(error), wanted, what)
    sys.exit(f"python_redis.py: {what} gave {got!r}, and no error")


def speak(**options):
    client = redis.Redis(
        port=PORT, decode_responses=True, client_name="tested", socket_timeout=60,
        username=os.environ.get("QUIPU_USER"), password=os.environ.get("QUIPU_SECRET"),
        **TLS, **options
    )
    expect(client.ping(), True, "ping")
    expect(client.client_getname(), "tested", "client_getname")
    expect(client.info()["redis_version"], "7.4.0", "info")
    expect(client.incr("likes"), 1, "incr")
    expect(client.incrby("likes", 41), 42, "incrby")
    expect(client.decr("likes"), 41, "decr")
    expect(client.get("likes"), "41", "get")
    expect(client.get("nothing"), None, "get of nothing")
    expect(client.set("stock", 7), True, "set")
    expect(client.mget("likes", "nothing", "stock"), ["41", None, "7"], "mget")
    expect(client.exists("likes", "nothing", "stock"), 2, "exists")
    expect(client.type("likes"), "string", "type")
    expect(client.getdel("stock"), "7", "getdel")
    expect_error(
        lambda: client.incrby("likes", "many"),
        "value is not an integer or out of range",
        "incrby of no number",
    )
    expect_error(
        lambda: client.lpush("likes", 1),
        "unknown command 'LPUSH', with args beginning with: 'likes' '1' ",
        "lpush",
    )
    expect(client.expire("likes", 1000, nx=True), True, "expire of a counter without an end")
    expect(client.expire("likes", 1000, nx=True), False, "expire of a counter with an end")
    expect(990 < client.ttl("likes") <= 1000, True, "ttl")
    expect(client.persist("likes"), True, "persist")
    expect(client.set("lock", 1, nx=True, ex=1000), True, "the first set nx")
    expect(client.set("lock", 1, nx=True, ex=1000), None, "the second set nx")
    expect(client.set("lock", 2, get=True, keepttl=True), "1", "set get keepttl")
    expect(client.getex("lock", persist=True), "2", "getex")
    expect(client.mset({"lock": 3, "other": 4}), True, "mset")
    expect(client.delete("lock", "other"), 2, "delete")

    pipeline = client.pipeline(transaction=False)
    for _ in range(10_000):
        pipeline.incr("pipelined")
    pipeline.execute_command("NONSENSE")
    pipeline.get("pipelined")
    replies = pipeline.execute(raise_on_error=False)
    expect(replies[:10_000], list(range(1, 10_001)), "a pipeline of incr")
    expect(type(replies[10_000]), redis.ResponseError, "an error in a pipeline")
    expect(replies[10_001], "10000", "get behind an error in a pipeline")

    # A pipeline is a transaction by default.
    pipeline = client.pipeline().incr("transacted").expire("transacted", 60).ttl("transacted")
    expect(pipeline.execute(), [1, True, 60], "a transaction")
    expect_error(
        lambda: client.execute_command("WATCH", "transacted"),
        "WATCH is not supported, and the next EXEC is refused: use SET NX, INCREX or a script",
        "watch",
    )
    expect(client.delete("transacted"), 1, "delete behind a transaction")
    expect(client.client_info()["omem"], 0, "client_info")

    pipeline = client.pipeline(transaction=False)
    for i in range(1000):
        pipeline.incr(f"page:{i}")
    pipeline.execute()
    pages = {f"page:{i}" for i in range(1000)}
    expect(set(client.scan_iter(match="page:*")), pages, "scan_iter of pages")
    expect(set(client.scan_iter(count=100)), pages | {"likes", "pipelined"}, "scan_iter")
    expect(client.dbsize(), 1002, "dbsize")
    expect(client.delete(*client.scan_iter()), 1002, "delete of all")
    client.close()


speak()
if redis.VERSION >= (5,):  # Debian 12's speaks only RESP2
    speak(protocol=3)
