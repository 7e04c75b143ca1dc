// What these tests check with: `expect` compares deeply, `expectError` an error's text.
// A test that hangs, or whose client fires an 'error' event, ends with a message too.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

const test = path.basename(process.argv[1]);
// Empty: it need not authenticate.
export const user = process.env.QUIPU_USER
  ? { username: process.env.QUIPU_USER, password: process.env.QUIPU_SECRET } : {};
// Null: connections are in plain text.
export const tls = process.env.QUIPU_CA ? { ca: readFileSync(process.env.QUIPU_CA) } : null;
export const port = Number(process.env.QUIPU_PORT);
export const ports = process.env.QUIPU_PORTS.split(' ').map(Number);

export function fail(why) {
  console.error(`${test}: ${why}`);
  process.exit(1);
}

export function expect(got, wanted, what) {
  try {
    assert.deepEqual(got, wanted);
  } catch (error) {
    fail(`${what}: ${error.message}`);
  }
}

export function expectWithin(got, lowest, highest, what) {
  if (got < lowest || got > highest || typeof got !== 'number') {
    fail(`${what} gave ${got}, which is not from ${lowest} to ${highest}`);
  }
}

// Polls until `call` returns what is wanted, and returns when that was.
export async function expectSoon(call, wanted, what) {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const got = await call();
    if (isDeepStrictEqual(got, wanted)) return performance.now();
    if (performance.now() > deadline) expect(got, wanted, `${what}, polled for 10 s,`);
    await delay(10);
  }
}

// The deadline of a counter counts from the request that set it, which `began` precedes. The
// wall clock, which decides, may run a little faster than the one that measures here.
export function expectLifetime(began, ended, ms) {
  if (ended - began < ms - 50) fail(`a counter of ${ms} ms ended after ${ended - began} ms`);
}

export async function expectError(promise, wanted, what) {
  await promise.then(
    (got) => fail(`${what} gave ${JSON.stringify(got)}, and no error`),
    (error) => expect(error.message, wanted, what),
  );
}

export function watch(client) {
  client.on('error', (error) => fail(`an 'error' event: ${error.stack}`));
  client.on('reconnecting', () => fail('it lost its connection'));
}

setTimeout(() => fail('it did not end within 60 s'), 60_000).unref();
