// @nest-lab/throttler-storage-redis, the storage of NestJS's throttler: a script of two keys, the
// hits and the block.
import 'reflect-metadata';
import throttlerStorage from '@nest-lab/throttler-storage-redis';
import { Redis } from 'ioredis';
import { expect, expectLifetime, expectSoon, expectWithin, ports, watch } from './expect.mjs';

function connect(port) {
  const client = new Redis({ port, host: '127.0.0.1' });
  watch(client);
  return client;
}

const clients = ports.map(connect);
const storages = clients.map((client) => new throttlerStorage.ThrottlerStorageRedisService(client));
const [first, last] = [storages[0], storages.at(-1)];
const raw = (name) => Promise.all(clients.map((client) => client.get(name)));
const onAll = (value) => ports.map(() => value);

async function blocksOverTheLimit() {
  const hit = (storage) => storage.increment('ada', 60_000, 3, 30_000, 'minute');
  for (const hits of [1, 2, 3]) {
    const { timeToExpire, ...rest } = await hit(first);
    expect(rest, { totalHits: hits, isBlocked: false, timeToBlockExpire: 0 }, `hit ${hits} of 3`);
    expectWithin(timeToExpire, 55, 60, 'timeToExpire');
  }
  const over = await hit(first);
  expect([over.totalHits, over.isBlocked], [4, true], 'the hit over the limit');
  expectWithin(over.timeToBlockExpire, 25, 30, 'timeToBlockExpire');
  await expectSoon(() => raw('{ada:minute}:hits'), onAll('4'), 'the hits on all nodes');
  await expectSoon(() => raw('{ada:minute}:blocked'), onAll('1'), 'the block on all nodes');
  const other = await hit(last);
  expect([other.totalHits, other.isBlocked], [5, true], 'a hit on the last node');
  expectWithin(other.timeToBlockExpire, 20, 30, 'timeToBlockExpire on the last node');
  await expectSoon(() => raw('{ada:minute}:hits'), onAll('5'), 'the hits with the last node');
}

// The hits end before the block does.
async function aBlockEnds() {
  const hit = (storage) => storage.increment('bob', 1000, 1, 2000, 'moment');
  expect((await hit(first)).isBlocked, false, 'the first hit of a moment');
  const began = performance.now();
  const { totalHits, isBlocked, timeToBlockExpire } = await hit(first);
  expect([totalHits, isBlocked, timeToBlockExpire], [2, true, 2], 'the second hit of a moment');
  await expectSoon(() => raw('{bob:moment}:blocked'), onAll('1'), 'the short block on all nodes');
  const ended = await expectSoon(() => raw('{bob:moment}:blocked'), onAll(null), 'its end');
  expectLifetime(began, ended, 2000);
  await expectSoon(() => raw('{bob:moment}:hits'), onAll(null), 'the end of the hits');
  const next = await hit(last);
  expect([next.totalHits, next.isBlocked], [1, false], 'the first hit after the block');
}

// A hit that is over the limit when the block has ended begins another block.
async function aBlockBeginsAgain() {
  const hit = (storage) => storage.increment('eve', 60_000, 1, 1000, 'again');
  await hit(first);
  expect((await hit(first)).isBlocked, true, 'the hit over the limit');
  await expectSoon(() => raw('{eve:again}:blocked'), onAll(null), 'the end of the first block');
  await expectSoon(() => raw('{eve:again}:hits'), onAll('2'), 'the hits before the second block');
  const next = await hit(last);
  expect([next.totalHits, next.isBlocked, next.timeToBlockExpire], [3, true, 1], 'the second block');
}

await blocksOverTheLimit();
await aBlockEnds();
await aBlockBeginsAgain();
for (const client of clients) await client.quit();
