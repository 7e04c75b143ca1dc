// What both tests check with: `expect` compares deeply, `expectError` an error's text.
// A test that hangs, or whose client fires an 'error' event, ends with a message too.
import assert from 'node:assert/strict';
import path from 'node:path';

const test = path.basename(process.argv[1]);
export const port = Number(process.env.QUIPU_PORT);

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
