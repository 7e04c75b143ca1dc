// node-redis, the package `redis`, in both versions of RESP.
import { createClient } from 'redis';
import { expect, expectError, port, tls, user, watch } from './expect.mjs';

async function speak(RESP) {
  const socket = { host: '127.0.0.1', port, ...(tls ? { tls: true, ...tls } : {}) };
  const client = createClient({ socket, ...user, RESP, name: 'tested' });
  watch(client);
  await client.connect();

  expect(await client.ping(), 'PONG', 'ping');
  expect(await client.clientGetName(), 'tested', 'clientGetName');
  expect(await client.incr('likes'), 1, 'incr');
  expect(await client.incrBy('likes', 41), 42, 'incrBy');
  expect(await client.get('likes'), '42', 'get');
  expect(await client.get('nothing'), null, 'get of nothing');
  expect(await client.set('stock', 7), 'OK', 'set');
  expect(await client.mGet(['likes', 'nothing', 'stock']), ['42', null, '7'], 'mGet');
  expect(await client.exists(['likes', 'nothing', 'stock']), 2, 'exists');
  await expectError(
    client.sendCommand(['INCRBY', 'likes', 'many']),
    'ERR value is not an integer or out of range', 'incrBy of no number');
  await expectError(
    client.sendCommand(['LPUSH', 'likes', '1']),
    "ERR unknown command 'LPUSH', with args beginning with: 'likes' '1' ", 'lpush');
  expect(await client.expire('likes', 1000), 1, 'expire');
  expect(await client.persist('likes'), 1, 'persist');
  expect(await client.ttl('likes'), -1, 'ttl');
  expect(await client.set('likes', 1, { EX: 1000, NX: true }), null, 'set NX of what exists');

  // What is asked for in one turn leaves as one pipeline.
  const totals = await Promise.all(Array.from({ length: 10_000 }, () => client.incr('pipelined')));
  expect(totals, Array.from({ length: 10_000 }, (_, i) => i + 1), 'a pipeline of incr');

  const scanned = [];
  for await (const names of client.scanIterator()) scanned.push(...names);
  expect(scanned.sort(), ['likes', 'pipelined', 'stock'], 'scanIterator');
  expect(await client.del(['likes', 'stock', 'pipelined', 'nothing']), 3, 'del');
  await client.close();
}

await speak(2);
await speak(3);
