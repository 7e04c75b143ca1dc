// rate-limiter-flexible, with a script (RateLimiterRedis) and with transactions alone
// (RateLimiterRedisNonAtomic), over ioredis and over node-redis.
import { createClient } from 'redis';
import { RateLimiterRedis, RateLimiterRedisNonAtomic, RateLimiterRes } from 'rate-limiter-flexible';
import { expect, expectLifetime, expectSoon, expectWithin, fail, ports, watch } from './expect.mjs';
import { clients, onAll, quit } from './nodes.mjs';

async function nodeRedis(port) {
  const client = createClient({ socket: { port, host: '127.0.0.1' } });
  watch(client);
  await client.connect();
  return client;
}

// Resolves with what a refused request is rejected with.
async function refused(consumed, what) {
  try {
    await consumed;
  } catch (error) {
    if (error instanceof RateLimiterRes) return error;
    fail(`${what}: ${error.stack}`);
  }
  return fail(`${what} was admitted`);
}

function counts({ consumedPoints, remainingPoints, isFirstInDuration }) {
  return [consumedPoints, remainingPoints, isFirstInDuration];
}

async function limit(Limiter, clients, options) {
  const ofAll = (duration) => clients.map(
    (storeClient) => new Limiter({ storeClient, points: 3, duration, ...options }));
  const nodes = ofAll(60);
  const [first, last] = [nodes[0], nodes.at(-1)];

  const points = (key) => Promise.all(
    nodes.map(async (node) => (await node.get(key))?.consumedPoints ?? null));
  const expectPoints = (key, wanted, what) =>
    expectSoon(() => points(key), onAll(wanted), what);

  // Admits three requests, and refuses those after them on each node.
  expect(await first.get('ada'), null, 'get of an unused limit');
  for (const wanted of [[1, 2, true], [2, 1, false], [3, 0, false]]) {
    const admitted = await first.consume('ada');
    expect(counts(admitted), wanted, `consume ${wanted[0]} of 3`);
    expectWithin(admitted.msBeforeNext, 55_000, 60_000, 'msBeforeNext');
  }
  const over = await refused(first.consume('ada'), 'consume 4 of 3');
  expect(counts(over), [4, 0, false], 'the refusal of consume 4');
  expectWithin(over.msBeforeNext, 55_000, 60_000, 'msBeforeNext of a refusal');
  await expectPoints('ada', 4, 'get on all nodes');
  expect(counts(await refused(last.consume('ada', 2), 'consume on the last node')), [6, 0, false],
    'the refusal on the last node');
  await expectPoints('ada', 6, 'get on all nodes after the last refusal');

  // Corrects the count, and forgets it.
  expect(counts(await last.penalty('ada', 4)), [10, 0, false], 'penalty');
  expect(counts(await last.reward('ada', 8)), [2, 1, false], 'reward');
  expectWithin((await last.get('ada')).msBeforeNext, 50_000, 60_000, 'msBeforeNext after reward');
  expect(counts(await last.consume('ada')), [3, 0, false], 'consume after reward');
  expect(await last.delete('ada'), true, 'delete');
  expect(await last.delete('ada'), false, 'delete of nothing');
  await expectPoints('ada', null, 'get after delete');

  // Starts from a given count, also without an end.
  await first.set('bob', 2, 60);
  expectWithin((await first.get('bob')).msBeforeNext, 55_000, 60_000, 'msBeforeNext after set');
  expect(counts(await first.consume('bob')), [3, 0, false], 'consume after set');
  await refused(first.consume('bob'), 'consume over the limit after set');
  await first.set('ever', 1, 0);
  expect((await first.get('ever')).msBeforeNext, -1, 'msBeforeNext of what has no end');
  await expectPoints('ever', 1, 'get of what has no end on all nodes');

  // Blocks for two seconds, on all nodes.
  const blocked = performance.now();
  expect((await first.block('eve', 2)).consumedPoints, 4, 'block');
  expectWithin((await refused(first.consume('eve'), 'consume while blocked')).msBeforeNext,
    1, 2000, 'msBeforeNext while blocked');
  const unblocked = await expectPoints('eve', null, 'get after the block');
  expectLifetime(blocked, unblocked, 2000);
  expect(counts(await last.consume('eve')), [1, 2, true], 'consume after the block');

  // Opens again when two seconds have passed, whichever node refused.
  const moments = ofAll(2);
  const began = performance.now();
  expect(counts(await moments[0].consume('cyd', 3)), [3, 0, true], 'consume of all three');
  await refused(moments[0].consume('cyd'), 'consume of a fourth');
  await expectPoints('cyd', 4, 'get of a short limit on all nodes');
  const ended = await expectPoints('cyd', null, 'get after the end');
  expectLifetime(began, ended, 2000);
  expect(counts(await moments.at(-1).consume('cyd')), [1, 2, true], 'the next window');
  await expectPoints('cyd', 1, 'get of the next life');
}

function limitOver(name, clients, useRedisPackage) {
  return Promise.all([RateLimiterRedis, RateLimiterRedisNonAtomic].map((Limiter) =>
    limit(Limiter, clients, { useRedisPackage, keyPrefix: `${Limiter.name}:${name}` })));
}

// All nodes count together: what the script adds is never lost.
async function countTogether() {
  const nodes = clients.map((storeClient) =>
    new RateLimiterRedis({ storeClient, points: 1000, duration: 60, keyPrefix: 'shared' }));
  const expectTotal = (wanted) => expectSoon(
    () => Promise.all(nodes.map(async (node) => (await node.get('all'))?.consumedPoints)),
    onAll(wanted), `${wanted} points on all nodes`);
  await nodes[0].consume('all');
  await expectTotal(1);
  await Promise.all(nodes.flatMap((node) => Array.from({ length: 20 }, () => node.consume('all'))));
  await expectTotal(1 + 20 * nodes.length);
}

const others = await Promise.all(ports.map(nodeRedis));
await Promise.all([
  limitOver('ioredis', clients, false), limitOver('redis', others, true), countTogether(),
]);
await quit();
for (const client of others) await client.quit();
