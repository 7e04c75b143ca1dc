// An ioredis client for each node, and what the tests ask of all nodes.
import { Redis } from 'ioredis';
import { ports, watch } from './expect.mjs';

export const clients = ports.map((port) => new Redis({ port, host: '127.0.0.1' }));
clients.forEach(watch);

export const onAll = (value) => ports.map(() => value);

export function values(name) {
  return Promise.all(clients.map((client) => client.get(name)));
}

export async function quit() {
  for (const client of clients) await client.quit();
}
