#!/usr/bin/php
<?php
// illuminate_cache.php: put, increment and many of Laravel's cache. (Its add, putMany and RateLimiter
// send scripts and transactions: illuminate_rate_limiter.php.)
require __DIR__ . '/expect.php';

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
