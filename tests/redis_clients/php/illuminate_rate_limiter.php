#!/usr/bin/php
<?php
// illuminate_rate_limiter.php: what Laravel's cache sends as a script (add, the release of a lock) or
// as a transaction (putMany), and RateLimiter, which counts with them.
require __DIR__ . '/expect.php';

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\Repository;

$nodes = count($caches);
[$first, $last] = [$caches[0], $caches[$nodes - 1]];

function expectWithin(int $got, int $lowest, int $highest, string $what): void
{
    if ($got < $lowest || $got > $highest) {
        fail("$what gave $got, which is not from $lowest to $highest");
    }
}

function expectValue(string $key, ?string $wanted, string $what): float
{
    global $nodes;
    return expectSoon(fn () => onAll(fn ($cache) => $cache->get($key)), array_fill(0, $nodes, $wanted), $what);
}

function ttl(Repository $cache, string $key): int
{
    return $cache->getStore()->connection()->ttl($cache->getStore()->getPrefix() . $key);
}

function addSetsOnce(): void
{
    global $first, $last;
    expect($first->add('stock', 7, 60), true, 'add');
    expect($first->add('stock', 8, 10), false, 'add of what is there');
    expect($first->get('stock'), '7', 'get after add');
    expectWithin(ttl($first, 'stock'), 50, 60, 'ttl after add');
    expectValue('stock', '7', 'get after add on all nodes');
    expect($last->add('stock', 9, 60), false, 'add on the last node');
    expect($last->increment('stock'), 8, 'increment after add');
    expect($last->forget('stock'), true, 'forget');
    expectValue('stock', null, 'get after forget on all nodes');
    expect($first->add('stock', 1, 60), true, 'add after forget');
}

function putManyIsATransaction(): void
{
    global $first, $last;
    expect($first->putMany(['a' => 1, 'b' => -2, 'c' => 3], 60), true, 'putMany');
    expect($first->many(['a', 'b', 'c']), ['a' => '1', 'b' => '-2', 'c' => '3'], 'many after putMany');
    foreach (['a' => '1', 'b' => '-2', 'c' => '3'] as $key => $value) {
        expectWithin(ttl($first, $key), 50, 60, "ttl of $key after putMany");
        expectValue($key, $value, "get of $key on all nodes");
    }
    expect($last->putMany(['a' => 10, 'b' => 20], 600), true, 'putMany on the last node');
    expectValue('a', '10', 'get after the second putMany');
    expectValue('b', '20', 'get after the second putMany');
    expectWithin(ttl($last, 'a'), 590, 600, 'ttl after the second putMany');
    expect($last->decrement('b'), 19, 'decrement after putMany');
}

// A lock stores its owner, so here that must be a number.
function aLockHasAnOwner(): void
{
    global $first, $last;
    expect($first->lock('job', 60, '41')->get(), true, 'get of a lock');
    expectValue('job', '41', 'the owner on all nodes');
    expect($last->lock('job', 60, '42')->get(), false, 'get of a lock that is taken');
    expect($last->lock('job', 60, '42')->release(), false, 'release of a lock of another owner');
    expect($last->lock('job', 60, '41')->release(), true, 'release of a lock');
    expectValue('job', null, 'the owner after the release');
    expect($first->lock('job', 60, '43')->get(), true, 'get of a lock after its release');
}

$limiters = array_map(fn ($cache) => new RateLimiter($cache), $caches);
[$one, $other] = [$limiters[0], $limiters[$nodes - 1]];

function attempts(RateLimiter $limiter, string $key, int $times, int $seconds): array
{
    $results = [];
    for ($i = 0; $i < $times; ++$i) {
        $results[] = $limiter->attempt($key, 3, fn () => 'served', $seconds);
    }
    return $results;
}

function refusesOverTheLimit(): void
{
    global $one, $other, $limiters, $nodes;
    expect($one->tooManyAttempts('ada', 3), false, 'tooManyAttempts at first');
    expect($one->remaining('ada', 3), 3, 'remaining at first');
    expect($one->availableIn('ada'), 0, 'availableIn at first');
    expect(attempts($one, 'ada', 5, 60), ['served', 'served', 'served', false, false], 'five attempts');
    expect($one->attempts('ada'), '3', 'attempts');
    expect($one->remaining('ada', 5), 2, 'remaining of five');
    expectWithin($one->availableIn('ada'), 50, 60, 'availableIn');

    // A node that has heard of the attempts alone, and not of the timer, would forget them.
    expectValue('ada', '3', 'the attempts on all nodes');
    expectSoon(fn () => onAll(fn ($cache) => $cache->has('ada:timer')), array_fill(0, $nodes, true), 'the timer');
    foreach ($limiters as $limiter) {
        expect($limiter->tooManyAttempts('ada', 3), true, 'tooManyAttempts on each node');
        expectWithin($limiter->availableIn('ada'), 50, 60, 'availableIn on each node');
    }
    expect($other->hit('ada', 60), 4, 'a hit on the last node');
    expect($other->attempts('ada'), '4', 'attempts on the last node');
    expectValue('ada', '4', 'the hit of the last node on all nodes');

    $other->clear('ada');
    expectValue('ada', null, 'the attempts after clear');
    expectValue('ada:timer', null, 'the timer after clear');
    expect($one->availableIn('ada'), 0, 'availableIn after clear');
    expect(attempts($one, 'ada', 1, 60), ['served'], 'an attempt after clear');
}

function opensAgain(): void
{
    global $one, $other;
    $began = microtime(true);
    expect(attempts($one, 'bob', 4, 2), ['served', 'served', 'served', false], 'four attempts in a window');
    expectValue('bob', '3', 'the attempts of a window');
    $ended = expectValue('bob', null, 'the attempts at the end');
    if ($ended - $began < 2 - 0.05) {
        fail('a window of 2 s ended after ' . ($ended - $began) . ' s');
    }
    expectValue('bob:timer', null, 'the timer at the end');
    expect($other->tooManyAttempts('bob', 3), false, 'tooManyAttempts in the next window');
    expect(attempts($other, 'bob', 1, 60), ['served'], 'an attempt in the next window');
    expectValue('bob', '1', 'the attempts of the next window');
}

addSetsOnce();
putManyIsATransaction();
aLockHasAnOwner();
refusesOverTheLimit();
opensAgain();
