// ioredis, in both versions of RESP. It asks INFO whether the server is loading before
// it says that it is ready.
import { Redis } from 'ioredis';
import { expect, expectError, port, tls, user, watch } from './expect.mjs';

async function speak(protocol) {
  const client = new Redis({
    port, host: '127.0.0.1', ...user, ...(tls ? { tls } : {}), protocol, connectionName: 'tested' });
  watch(client);

  expect(await client.ping(), 'PONG', 'ping');
  expect(await client.client('GETNAME'), 'tested', 'client GETNAME');
  expect(await client.incr('likes'), 1, 'incr');
  expect(await client.incrby('likes', 41), 42, 'incrby');
  expect(await client.get('likes'), '42', 'get');
  expect(await client.get('nothing'), null, 'get of nothing');
  expect(await client.set('stock', 7), 'OK', 'set');
  expect(await client.mget('likes', 'nothing', 'stock'), ['42', null, '7'], 'mget');
  expect(await client.exists('likes', 'nothing', 'stock'), 2, 'exists');
  await expectError(
    client.incrby('likes', 'many'),
    'ERR value is not an integer or out of range', 'incrby of no number');
  await expectError(
    client.lpush('likes', 1),
    "ERR unknown command 'lpush', with args beginning with: 'likes' '1' ", 'lpush');
  expect(await client.expire('likes', 1000), 1, 'expire');
  expect(await client.persist('likes'), 1, 'persist');
  expect(await client.ttl('likes'), -1, 'ttl');
  expect(await client.set('likes', 1, 'EX', 1000, 'NX'), null, 'set NX of what exists');

  const pipeline = client.pipeline();
  for (let i = 0; i < 10_000; ++i) pipeline.incr('pipelined');
  const wanted = Array.from({ length: 10_000 }, (_, i) => [null, i + 1]);
  expect(await pipeline.exec(), wanted, 'a pipeline of incr');

  const scanned = [];
  for await (const names of client.scanStream()) scanned.push(...names);
  expect(scanned.sort(), ['likes', 'pipelined', 'stock'], 'scanStream');
  expect(await client.del('likes', 'stock', 'pipelined', 'nothing'), 3, 'del');
  expect(await client.quit(), 'OK', 'quit');
}

await speak(2);
await speak(3);
