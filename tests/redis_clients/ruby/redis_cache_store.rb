#!/usr/bin/ruby
# redis_cache_store.rb: counters in Rails' cache, as increment(expires_in:) makes them.
require_relative "expect"

first, last = STORES.first, STORES.last

def values(name)
  STORES.map { |store| store.read(name, raw: true) }
end

def on_all(value)
  [value] * STORES.size
end

# Counts, and keeps the deadline of the first increment.
began = now
expect(first.increment("views", 1, expires_in: 2), 1, "the first increment")
left = first.redis.pttl("views")
expect(left, 1..2000, "pttl after the first increment")
expect(first.increment("views", 1, expires_in: 60), 2, "the second increment")
expect(first.increment("views", 5, expires_in: 60), 7, "an increment by 5")
expect(first.decrement("views", 3, expires_in: 60), 4, "a decrement by 3")
expect(first.redis.pttl("views"), 1..left, "pttl after the others")
expect_soon(on_all("4"), "read on all nodes") { values("views") }
expect(last.increment("views", 1, expires_in: 60), 5, "an increment on the last node")
expect_soon(on_all("5"), "read of the sum on all nodes") { values("views") }

# Ends on all nodes, and begins anew.
ended = expect_soon(on_all(nil), "read after the deadline") { values("views") }
expect_lifetime(began, ended, 2)
expect(last.increment("views", 1, expires_in: 60), 1, "the first increment after the deadline")
expect(last.redis.ttl("views"), 55..60, "ttl after the first increment after the deadline")
expect_soon(on_all("1"), "read of the next life") { values("views") }

# All nodes count at once: no add is lost.
STORES.each { |store| 10.times { store.increment("visits", 1, expires_in: 2) } }
expect_soon(on_all((10 * STORES.size).to_s), "read of the visits") { values("visits") }
STORES.each { |store| expect(store.redis.pttl("visits"), 1..2000, "pttl of the visits") }
expect_soon(on_all(nil), "read of the visits after the deadline") { values("visits") }

# What else a cache does with numbers.
expect(first.write("stock", 7, raw: true, expires_in: 60), "OK", "write")
expect(first.write("stock", 8, raw: true, expires_in: 60, unless_exist: true), false, "write unless_exist")
expect(first.read_multi("stock", "nothing", raw: true), { "stock" => "7" }, "read_multi")
expect(first.write_multi({ "a" => 1, "b" => 2 }, raw: true), "OK", "write_multi")
expect(first.delete_multi(%w[a b nothing]), 2, "delete_multi")
expect(first.delete("stock"), 1, "delete")
expect(first.increment("plain"), 1, "an increment without expires_in")
expect(first.redis.ttl("plain"), -1, "ttl without expires_in")
first.delete_matched("pla*")
expect(first.read("plain", raw: true), nil, "read after delete_matched")
first.increment("hits", 1, namespace: "shop")
first.clear(namespace: "shop")
expect(first.redis.keys("*"), ["views"], "keys after clear of a namespace")
