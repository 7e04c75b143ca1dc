<?php
// expect.php: what these tests check with, and a cache for each node: Laravel's, Debian's
// php-illuminate-cache over php-redis, in database 1, which is Laravel's default. Where Quipu replies
// with an error, php-redis returns false and Laravel goes on, so every result is compared.
require 'Illuminate/Cache/autoload.php';

use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Redis\RedisManager;

function fail(string $why): never
{
    fwrite(STDERR, basename($_SERVER['SCRIPT_NAME']) . ": $why\n");
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
