// @fastify/rate-limit with its Redis store, in a fastify of its own for each node.
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';
import { expect, expectLifetime, expectSoon, expectWithin } from './expect.mjs';
import { clients, onAll, quit, values } from './nodes.mjs';

async function serve(redis) {
  const app = fastify();
  await app.register(rateLimit, {
    redis, max: 3, ban: 1, timeWindow: 60_000, skipOnError: false,
    keyGenerator: (request) => request.headers.visitor,
  });
  app.get('/minute', async () => 'served');
  const routes = {
    '/moment': { timeWindow: 2000 },
    '/strict': { timeWindow: 2000, continueExceeding: true },
    '/backoff': { timeWindow: 20_000, max: 1, exponentialBackoff: true },
  };
  for (const [url, limit] of Object.entries(routes)) {
    app.get(url, { config: { rateLimit: { ban: -1, ...limit } } }, async () => 'served');
  }
  return async (url, visitor) => {
    const { statusCode, headers } = await app.inject({ url, headers: { visitor } });
    return {
      status: statusCode,
      remaining: Number(headers['x-ratelimit-remaining']),
      reset: Number(headers['x-ratelimit-reset']),
    };
  };
}

const nodes = await Promise.all(clients.map(serve));
const [first, last] = [nodes[0], nodes.at(-1)];

async function statuses(ask, url, visitor, times) {
  const got = [];
  for (let i = 0; i < times; ++i) got.push((await ask(url, visitor)).status);
  return got;
}

async function refusesOverTheLimit() {
  const name = 'fastify-rate-limit-ada';
  for (const remaining of [2, 1, 0]) {
    const served = await first('/minute', 'ada');
    expect([served.status, served.remaining], [200, remaining], 'a request within the limit');
    expectWithin(served.reset, 55, 60, 'x-ratelimit-reset');
  }
  expect(await statuses(first, '/minute', 'ada', 2), [429, 403], 'requests refused, then banned');
  await expectSoon(() => values(name), onAll('5'), 'the count on all nodes');
  expect((await last('/minute', 'ada')).status, 403, 'a request to the last node');
  await expectSoon(() => values(name), onAll('6'), 'the count with that of the last node');
  expectWithin(await clients.at(-1).pttl(name), 50_000, 60_000, 'pttl of a refused visitor');
  expect((await last('/minute', 'bob')).remaining, 2, 'remaining of another visitor');
}

async function opensAgain() {
  const name = 'fastify-rate-limit-GET/moment-ada';
  const began = performance.now();
  expect(await statuses(first, '/moment', 'ada', 4), [200, 200, 200, 429], 'a short window');
  await expectSoon(() => values(name), onAll('4'), 'the count of a short window on all nodes');
  const ended = await expectSoon(() => values(name), onAll(null), 'the count at the end');
  expectLifetime(began, ended, 2000);
  expect((await last('/moment', 'ada')).remaining, 2, 'remaining in the next window');
  await expectSoon(() => values(name), onAll('1'), 'the count of the next window');
}

// With continueExceeding, the window ends two seconds after the last request that was refused.
async function aRefusedRequestMovesTheEnd() {
  const name = 'fastify-rate-limit-GET/strict-ada';
  expect(await statuses(first, '/strict', 'ada', 3), [200, 200, 200], 'requests of a strict limit');
  await expectSoon(() => values(name), onAll('3'), 'the count of a strict limit');
  const began = performance.now();
  expect((await first('/strict', 'ada')).status, 429, 'a request over a strict limit');
  const ended = await expectSoon(() => values(name), onAll(null), 'the count at the moved end');
  expectLifetime(began, ended, 2000);
}

// With exponentialBackoff, which begins with version 10, each refused request doubles the window.
async function aRefusedRequestDoublesTheWindow() {
  const resets = [];
  for (let i = 0; i < 4; ++i) resets.push((await first('/backoff', 'ada')).reset);
  const wanted = [20, 20, 40, 80];
  resets.forEach((reset, i) =>
    expectWithin(reset, wanted[i] - 5, wanted[i], `x-ratelimit-reset of request ${i + 1}`));
  expectWithin(await clients[0].pttl('fastify-rate-limit-GET/backoff-ada'), 70_000, 80_000,
    'pttl after three refused requests');
}

await refusesOverTheLimit();
await opensAgain();
await aRefusedRequestMovesTheEnd();
if (!process.version.startsWith('v18.')) await aRefusedRequestDoublesTheWindow();
await quit();
