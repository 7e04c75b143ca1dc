# expect.rb: what both tests check with, and a cache store for each node. Debian's packages.
require "active_support"
require "active_support/cache"
require "active_support/cache/redis_cache_store"
require "active_support/notifications"

def expect(got, wanted, what)
  abort "#{$PROGRAM_NAME}: #{what} gave #{got.inspect}, not #{wanted.inspect}" unless wanted === got
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# Polls until the block returns what is wanted, and returns when that was.
def expect_soon(wanted, what)
  deadline = now + 10
  until wanted === (got = yield)
    expect(got, wanted, "#{what}, polled for 10 s,") if now > deadline
    sleep 0.01
  end
  now
end

# The deadline of a counter counts from the request that set it, which `began` precedes. The
# wall clock, which decides, may run a little faster than the one that measures here.
def expect_lifetime(began, ended, seconds)
  expect(ended - began, (seconds - 0.05..), "the lifetime of a counter of #{seconds} s")
end

# By default a cache store only logs an error, and goes on as if there were no cache.
STORES = ENV.fetch("QUIPU_PORTS").split.map do |port|
  ActiveSupport::Cache::RedisCacheStore.new(
    url: "redis://127.0.0.1:#{port}", read_timeout: 60,
    error_handler: ->(method:, exception:, **) { abort "#{$PROGRAM_NAME}: #{method}: #{exception.message}" }
  )
end
