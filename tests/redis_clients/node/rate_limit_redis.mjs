// rate-limit-redis, the store of express-rate-limit, under an express of its own for each node.
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';
import { expect, expectLifetime, expectSoon, expectWithin } from './expect.mjs';
import { clients, onAll, quit, values } from './nodes.mjs';

// Resolves with what answers requests at the node of `client`, and with its limiter.
async function serve(client, windowMs, prefix) {
  const store = new RedisStore({ prefix, sendCommand: (...words) => client.call(...words) });
  const limiter = rateLimit({
    windowMs, limit: 3, store, standardHeaders: 'draft-6', legacyHeaders: false,
    keyGenerator: (request) => request.query.visitor, passOnStoreError: false,
  });
  const app = express();
  app.use(limiter);
  app.get('/', (_request, response) => response.end('served'));
  const server = await new Promise((listening) => {
    const one = app.listen(0, '127.0.0.1', () => listening(one));
  });
  const url = `http://127.0.0.1:${server.address().port}/`;
  const ask = async (visitor) => {
    const { status, headers } = await fetch(`${url}?visitor=${visitor}`);
    return {
      status,
      remaining: Number(headers.get('ratelimit-remaining')),
      reset: Number(headers.get('ratelimit-reset')),
    };
  };
  const hits = async (visitor) => (await limiter.getKey(visitor)).totalHits;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { ask, close, hits, limiter, store };
}

async function refusesOverTheLimit() {
  const nodes = await Promise.all(clients.map((client) => serve(client, 60_000, 'minute:')));
  const [first, last] = [nodes[0], nodes.at(-1)];
  const hits = (visitor) => Promise.all(nodes.map((node) => node.hits(visitor)));

  for (const remaining of [2, 1, 0]) {
    const served = await first.ask('ada');
    expect([served.status, served.remaining], [200, remaining], 'a request within the limit');
    expectWithin(served.reset, 55, 60, 'RateLimit-Reset');
  }
  expect((await first.ask('ada')).status, 429, 'a request over the limit');
  await expectSoon(() => hits('ada'), onAll(4), 'hits on all nodes');
  expect((await last.ask('ada')).status, 429, 'a request to the last node');
  await expectSoon(() => hits('ada'), onAll(5), 'hits with those of the last node');
  expectWithin((await last.limiter.getKey('ada')).resetTime - Date.now(), 50_000, 60_000,
    'resetTime');

  // What did not count after all, as express-rate-limit's skipFailedRequests has it.
  for (let i = 0; i < 3; ++i) await last.store.decrement('ada');
  expect(await last.hits('ada'), 2, 'hits after three decrements');
  expect((await last.ask('ada')).status, 200, 'a request after the decrements');
  expect((await last.ask('ada')).status, 429, 'the next request after the decrements');

  await last.limiter.resetKey('ada');
  await expectSoon(() => values('minute:ada'), onAll(null), 'the count after resetKey');
  expect((await first.ask('ada')).remaining, 2, 'remaining after resetKey');

  // Scripts that a server has forgotten are loaded again.
  expect(await clients[0].script('FLUSH'), 'OK', 'SCRIPT FLUSH');
  expect((await first.ask('ada')).remaining, 1, 'remaining after SCRIPT FLUSH');
  for (const node of nodes) node.close();
}

async function opensAgain() {
  const nodes = await Promise.all(clients.map((client) => serve(client, 2000, 'moment:')));
  const began = performance.now();
  const statuses = [];
  for (let i = 0; i < 4; ++i) statuses.push((await nodes[0].ask('bob')).status);
  expect(statuses, [200, 200, 200, 429], 'four requests in a window');
  await expectSoon(() => values('moment:bob'), onAll('4'), 'the count on all nodes');
  const ended = await expectSoon(() => values('moment:bob'), onAll(null), 'the count at the end');
  expectLifetime(began, ended, 2000);
  const { status, remaining } = await nodes.at(-1).ask('bob');
  expect([status, remaining], [200, 2], 'the first request of the next window');
  await expectSoon(() => values('moment:bob'), onAll('1'), 'the count of the next window');
  for (const node of nodes) node.close();
}

await refusesOverTheLimit();
await opensAgain();
await quit();
