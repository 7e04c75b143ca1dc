#!/usr/bin/php
<?php
// illuminate_cache.php: Laravel's cache, Debian's php-illuminate-cache over php-redis, in database
// 1, which is Laravel's default. Where Quipu replies with an error, php-redis returns false and
// Laravel goes on, so every result is compared. (Its RateLimiter sends a script.)
require 'Illuminate/Cache/autoload.php';

use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Redis\RedisManager;

function fail(string $why): never
{
    fwrite(STDERR, "illuminate_cache.php: $why\n");
    exit(1);
}

function expect(mixed $got, mixed $wanted, string $what): void
{
    if ($got !== $wanted) {
        fail("$what gave " . json_encode($got) . ', not ' . json_encode($wanted));
    }
}

// Polls until the call returns what is wanted, and returns when that was.
function expectSoon(callable $call, mixed $wanted, string $what): float
{
    $deadline = microtime(true) + 10;
    while (($got = $call()) !== $wanted) {
        if (microtime(true) > $deadline) {
            expect($got, $wanted, "$what, polled for 10 s,");
        }
        usleep(10_000);
    }
    return microtime(true);
}

function onAll(callable $call): array
{
    global $caches;
    return array_map($call, $caches);
}

$caches = array_map(function (string $port) {
    $redis = new RedisManager(null, 'phpredis', ['default' => [
        'host' => '127.0.0.1', 'port' => (int) $port, 'database' => 1, 'read_timeout' => 60,
    ]]);
    return new Repository(new RedisStore($redis, 'laravel_cache'));
}, explode(' ', getenv('QUIPU_PORTS')));
$nodes = count($caches);
[$first, $last] = [$caches[0], $caches[$nodes - 1]];

// Numbers come back as strings, as from Redis.
expect($first->put('stock', 7, 60), true, 'put');
expect($first->increment('stock'), 8, 'increment');
expect($first->decrement('stock', 3), 5, 'decrement');
expect($first->get('stock'), '5', 'get');
expect($first->many(['stock', 'nothing']), ['stock' => '5', 'nothing' => null], 'many');
expect($first->forever('total', 40), true, 'forever');
expect($first->increment('total', 2), 42, 'increment of what stays for ever');
expect($first->pull('total'), '42', 'pull');
expect($first->has('total'), false, 'has after pull');
expect($first->forget('stock'), true, 'forget');
expect($first->forget('stock'), false, 'forget of nothing');

// A count with a deadline, which increments keep.
$began = microtime(true);
expect($first->put('hits', 0, 2), true, 'put of hits');
expectSoon(fn () => onAll(fn ($cache) => $cache->get('hits')), array_fill(0, $nodes, '0'), 'get on all');
foreach ($caches as $cache) {
    for ($i = 0; $i < 10; ++$i) {
        $cache->increment('hits');
    }
}
$total = (string) (10 * $nodes);
expectSoon(fn () => onAll(fn ($cache) => $cache->get('hits')), array_fill(0, $nodes, $total), 'the sum');
$ended = expectSoon(fn () => onAll(fn ($cache) => $cache->get('hits')), array_fill(0, $nodes, null), 'the end');
if ($ended - $began < 2 - 0.05) {
    fail('a counter of 2 s ended after ' . ($ended - $began) . ' s');
}
expect($last->increment('hits'), 1, 'increment after the deadline');
expect($last->forget('hits'), true, 'forget of the next life');
