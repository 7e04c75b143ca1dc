// @nest-lab/throttler-storage-redis, the storage of NestJS's throttler: a script of two keys, the
// hits and the block.
import 'reflect-metadata';
import throttlerStorage from '@nest-lab/throttler-storage-redis';
import { expect, expectLifetime, expectSoon, expectWithin } from './expect.mjs';
import { clients, onAll, quit, values } from './nodes.mjs';

const storages = clients.map((client) => new throttlerStorage.ThrottlerStorageRedisService(client));
const [first, last] = [storages[0], storages.at(-1)];

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
  await expectSoon(() => values('{ada:minute}:hits'), onAll('4'), 'the hits on all nodes');
  await expectSoon(() => values('{ada:minute}:blocked'), onAll('1'), 'the block on all nodes');
  const other = await hit(last);
  expect([other.totalHits, other.isBlocked], [5, true], 'a hit on the last node');
  expectWithin(other.timeToBlockExpire, 20, 30, 'timeToBlockExpire on the last node');
  await expectSoon(() => values('{ada:minute}:hits'), onAll('5'), 'the hits with the last node');
}

// The hits end before the block does.
async function aBlockEnds() {
  const hit = (storage) => storage.increment('bob', 1000, 1, 2000, 'moment');
  expect((await hit(first)).isBlocked, false, 'the first hit of a moment');
  const began = performance.now();
  const { totalHits, isBlocked, timeToBlockExpire } = await hit(first);
  expect([totalHits, isBlocked, timeToBlockExpire], [2, true, 2], 'the second hit of a moment');
  await expectSoon(() => values('{bob:moment}:blocked'), onAll('1'), 'the block on all nodes');
  const ended = await expectSoon(() => values('{bob:moment}:blocked'), onAll(null), 'its end');
  expectLifetime(began, ended, 2000);
  await expectSoon(() => values('{bob:moment}:hits'), onAll(null), 'the end of the hits');
  const next = await hit(last);
  expect([next.totalHits, next.isBlocked], [1, false], 'the first hit after the block');
}

// A hit that is over the limit when the block has ended begins another block.
async function aBlockBeginsAgain() {
  const hit = (storage) => storage.increment('eve', 60_000, 1, 1000, 'again');
  await hit(first);
  expect((await hit(first)).isBlocked, true, 'the hit over the limit');
  await expectSoon(() => values('{eve:again}:blocked'), onAll(null), 'the end of the first block');
  await expectSoon(() => values('{eve:again}:hits'), onAll('2'), 'the hits of the first block');
  const { totalHits, isBlocked, timeToBlockExpire } = await hit(last);
  expect([totalHits, isBlocked, timeToBlockExpire], [3, true, 1], 'the second block');
}

await blocksOverTheLimit();
await aBlockEnds();
await aBlockBeginsAgain();
await quit();
