#!/usr/bin/ruby
# rack_attack.rb: Rack::Attack refuses requests over a limit. Its counts are in Rails' cache, then
# in a Redis of its own.
require_relative "expect"
require "rack/attack"

LIMIT = 3
PERIOD = 2

Rack::Attack.throttle("requests", limit: LIMIT, period: PERIOD, &:ip)
Rack::Attack.throttled_responder = lambda do |refused|
  [429, {}, [refused.env["rack.attack.match_data"][:count]]]
end
APP = Rack::Attack.new(->(_env) { [200, {}, []] })

# Returns the status, and the count if that is over the limit.
def request(store, visitor)
  Rack::Attack.cache.store = store
  status, _headers, body = APP.call(Rack::MockRequest.env_for("/", "REMOTE_ADDR" => visitor))
  [status, *body]
end

def current_period
  Time.now.to_i / PERIOD
end

# Rack::Attack's periods begin by the calendar. What has run into the next one is done again, by
# another visitor. Returns the visitor, and what the block returned.
def in_one_period
  (1..).each do |try|
    period = current_period
    visitor = "10.0.0.#{try}"
    result = yield visitor, period
    return visitor, result if current_period == period
  end
end

# Polls until the store's node has heard of that many requests. Gives up at the period's end.
def await_count(store, count, visitor, period)
  Rack::Attack.cache.store = store
  key = "#{period}:requests:#{visitor}"
  sleep 0.01 until Rack::Attack.cache.read(key).to_i == count || current_period != period
end

def refuses_over_the_limit(stores)
  visitor, replies = in_one_period { |ip| Array.new(LIMIT + 2) { request(stores.first, ip) } }
  expect(replies, [[200]] * LIMIT + [[429, LIMIT + 1], [429, LIMIT + 2]], "a period's requests")
  expect_soon([200], "a request in the next period") { request(stores.first, visitor) }
end

def nodes_count_together(stores)
  _visitor, replies = in_one_period do |ip, period|
    (1..LIMIT + 1).map do |count|
      reply = request(stores[count % stores.size], ip)
      stores.each { |store| await_count(store, count, ip, period) }
      reply
    end
  end
  expect(replies, [[200]] * LIMIT + [[429, LIMIT + 1]], "requests to one node after the other")
end

def bans_for_a_while(stores)
  options = { maxretry: 2, findtime: 3600, bantime: 2 }
  banned = lambda do
    stores.map do |store|
      Rack::Attack.cache.store = store
      Rack::Attack::Fail2Ban.banned?("intruder")
    end
  end
  expect(banned.call, [false] * stores.size, "banned? at first")
  began = now
  2.times { Rack::Attack::Fail2Ban.filter("intruder", options) { true } }
  expect_soon([true] * stores.size, "banned? after two failures", &banned)
  ended = expect_soon([false] * stores.size, "banned? after the ban", &banned)
  expect_lifetime(began, ended, 2)
end

redises = ENV.fetch("QUIPU_PORTS").split.map { |port| Redis.new(port: port.to_i, timeout: 60) }
[STORES, redises].each do |stores|
  refuses_over_the_limit(stores)
  nodes_count_together(stores)
  expect_soon([[]] * redises.size, "keys after all periods") { redises.map { |redis| redis.keys("*") } }
  bans_for_a_while(stores)
  Rack::Attack.reset!
  expect_soon([[]] * redises.size, "keys after reset!") { redises.map { |redis| redis.keys("*") } }
end
