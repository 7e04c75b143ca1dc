#!/usr/bin/python3 -B
"""envoy_rate_limit.py: what Envoy's rate limit service sends for a request: INCRBY and EXPIRE
of one counter for each limit, all in one pipeline. Without a library: the very bytes."""
import time

from connection import Connection
from expect import PORTS, expect, expect_lifetime, expect_soon, expect_within

nodes = [Connection(port) for port in PORTS]
second = ("mongo_cps_database_users_1718000000", 2)
hour = ("mongo_cps_database_users_1717999200", 3600)


# `limits` are names and seconds. Returns the counts; each is over its limit if it exceeds it.
def hit(node, *limits, by=1):
    requests = []
    for name, seconds in limits:
        requests += [("INCRBY", name, by), ("EXPIRE", name, seconds)]
    replies = node.pipeline(*requests)
    expect(replies[1::2], [1] * len(limits), "EXPIRE in the pipeline")
    return replies[::2]


def on_all(*words):
    return [node.ask(*words) for node in nodes]


def one_client_counts_in_order():
    counts = []
    for _ in range(10):
        began = time.monotonic()
        counts.append(hit(nodes[0], second, hour))
    expect(counts, [[i, i] for i in range(1, 11)], "ten requests")
    expect(hit(nodes[0], ("by", 2), by=7) + hit(nodes[0], ("by", 2), by=5), [7, 12], "hits of 7, 5")
    expect_within(nodes[0].ask("PTTL", second[0]), 1, 2000, "PTTL of the limit per second")
    expect_within(nodes[0].ask("TTL", hour[0]), 3590, 3600, "TTL of the limit per hour")
    expect_soon(lambda: on_all("GET", hour[0]), ["10"] * len(nodes), "GET per hour on all nodes")

    ended = expect_soon(lambda: nodes[0].ask("GET", second[0]), None, "GET per second")
    expect_lifetime(began, ended, 2)
    expect_soon(lambda: on_all("GET", second[0]), [None] * len(nodes), "GET on all nodes")
    expect(hit(nodes[0], second, hour), [1, 11], "the request after the deadline")


def all_nodes_count_together():
    shared = ("mongo_cps_database_default_1718000000", 2)
    counts = {node: [] for node in nodes}
    for i in range(30):
        node = nodes[i % len(nodes)]
        began = time.monotonic()
        counts[node] += hit(node, shared)
    for node in nodes:
        expect(counts[node], sorted(set(counts[node])), "each request counts: the counts of a node")
    expect_soon(lambda: on_all("GET", shared[0]), ["30"] * len(nodes), "GET on all nodes")
    for left in on_all("PTTL", shared[0]):
        expect_within(left, 1, 2000, "PTTL on each node")

    ended = expect_soon(lambda: on_all("GET", shared[0]), [None] * len(nodes), "GET on all nodes")
    expect_lifetime(began, ended, 2)
    expect(on_all("PTTL", shared[0]), [-2] * len(nodes), "PTTL of what has ended")
    expect(hit(nodes[-1], shared), [1], "the request after the deadline")
    expect_soon(lambda: on_all("GET", shared[0]), ["1"] * len(nodes), "GET of the next life")
    expect(nodes[0].ask("DEL", shared[0]), 1, "DEL")


one_client_counts_in_order()
all_nodes_count_together()

# What ended is not listed any more either.
expect_soon(lambda: on_all("KEYS", "*"), [[hour[0]]] * len(nodes), "KEYS after the deadlines")
