// app.mjs: an express app that admits LIMIT requests of each user in WINDOW_MS. Start as many
// instances as you like: they share the limit, because Quipu counts.
//
// Invariant: a request passes only if Quipu has counted it. If Quipu's answer is lost, the
// request may have been counted, so it is not counted again: the user gets 503 and may retry.
import { setTimeout as pause } from 'node:timers/promises';

import express from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import { Redis } from 'ioredis';
import { RedisStore } from 'rate-limit-redis';

const limit = Number(process.env.LIMIT ?? 100);
const windowMs = Number(process.env.WINDOW_MS ?? 60_000);
const nodes = (process.env.QUIPU_NODES ?? '127.0.0.1:7400').split(',');  // the nearest one first

// ---- the lines that matter ----
const addresses = nodes.map((node) => new URL(`redis://${node}`));
let current = 0;  // the node that this instance is connected to
const quipu = new Redis({
  host: addresses[0].hostname,
  port: addresses[0].port,
  maxRetriesPerRequest: 0,  // or ioredis sends a command again that may have counted
  connectTimeout: 1000, commandTimeout: 2000, disconnectTimeout: 100,
  retryStrategy(attempt) {  // the connection broke: go on at the next node
    current = (current + 1) % nodes.length;
    quipu.options.host = addresses[current].hostname;
    quipu.options.port = addresses[current].port;
    return Math.min(50 * attempt, 1000);
  },
});
quipu.on('error', (error) => console.error(`quipu: ${nodes[current]}: ${error.message}`));

async function sendCommand(...words) {
  for (let attempt = 1; ; ++attempt) {
    try {
      return await quipu.call(...words);
    } catch (error) {
      if (error.message === 'Command timed out') quipu.disconnect(true);  // leaves a silent node
      // Only NOTAPPLIED says that nothing was counted, so that it may be sent again.
      if (!error.message.startsWith('NOTAPPLIED') || attempt === 20) throw error;
      await pause(50);
    }
  }
}

const store = new RedisStore({ sendCommand });
const limiter = rateLimit({
  limit, windowMs, store,
  keyGenerator: (request) => request.get('x-user') ?? ipKeyGenerator(request.ip),
  message: describe,  // of a 429
  standardHeaders: 'draft-8',
  legacyHeaders: false,
});
// RedisStore never repeats a SCRIPT LOAD that failed. So load at each node that is connected.
quipu.on('ready', () => store.init({ windowMs }).catch((error) => {
  console.error(`quipu: ${nodes[current]}: ${error.message}`);
  quipu.disconnect(true);
}));
// ---- up to here ----

function describe(request) {
  const { used, resetTime } = request.rateLimit;
  return { used, limit, resetTime, node: nodes[current] };
}

const app = express();
app.get('/', limiter, (request, response) => response.json(describe(request)));
app.use((error, request, response, next) => {
  console.error(`no answer about a request: ${error.message}`);
  if (response.headersSent) return next(error);
  response.status(503).set('Retry-After', '1').json({ error: 'the limit cannot be checked now' });
});
const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
