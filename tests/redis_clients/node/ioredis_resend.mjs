// ioredis sends a command again by itself if its connection broke before the reply. Here a
// proxy lets each add reach the node, and breaks the connection in place of the reply. So
// INCR counts twice, while an add with a token counts once.
import net from 'node:net';
import { Redis } from 'ioredis';
import { expect, expectError, port } from './expect.mjs';

let lose = null; // the word of a request whose reply is to be lost, once
let lost = 0;

function onClient(client) {
  const node = net.connect(port, '127.0.0.1');
  let losing = false;
  const end = () => {
    client.destroy();
    node.destroy();
  };
  client.on('data', (bytes) => {
    if (lose !== null && bytes.toString('latin1').toUpperCase().includes(lose)) {
      lose = null;
      losing = true;
    }
    node.write(bytes);
  });
  node.on('data', (bytes) => {
    if (!losing) return client.write(bytes);
    ++lost;
    end();
  });
  for (const socket of [client, node]) {
    socket.on('error', end);
    socket.on('close', end);
  }
}

const proxy = net.createServer(onClient);
await new Promise((listening) => proxy.listen(0, '127.0.0.1', listening));
const options = { host: '127.0.0.1', port: proxy.address().port };

async function withClient(more, use) {
  const client = new Redis({ ...options, ...more });
  client.on('error', () => {});
  await use(client);
  client.disconnect();
}

await withClient({}, async (client) => {
  lose = 'INCR';
  expect(await client.incr('plain'), 2, 'an INCR that ioredis sent twice');
  expect(lost, 1, 'lost replies');

  const session = await client.call('QUIPU.SESSION', 'tokened');
  for (let number = 1; number <= 5; ++number) {
    lose = 'QUIPU.ADD';
    const total = await client.call('QUIPU.ADD', 'tokened', 10, 'TOKEN', session, number);
    expect(total, 10 * number, `add ${number}, sent twice with its token`);
    expect(lost, 1 + number, 'lost replies');
  }
  expect(await client.get('tokened'), '50', 'get of what was added with tokens');
});

// What node/clients/resp/README.md names to keep it from sending twice.
await withClient({ maxRetriesPerRequest: 0 }, async (client) => {
  lose = 'INCR';
  await expectError(
    client.incr('never again'),
    'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.',
    'an INCR without its reply');
  expect(await client.get('never again'), '1', 'get of what was not sent again');
});

proxy.close();
