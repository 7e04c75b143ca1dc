// show.mjs BINARIES [--fast]: starts three nodes of Quipu and three instances of app.mjs, each
// at its own node, and lets one user send more than the limit through all three.
//
//   windows 1, 2: all is well     3: the home of the counter is killed     4: without it
//   5: it is started again        then one more window, with all three
//
// Ends with the numbers of each window. Exit 0: the limit held.
import { Cluster, until } from './processes.mjs';
import { screen } from './screen.mjs';
import { faults, table, Windows } from './windows.mjs';

const fast = process.argv.includes('--fast');
const limit = 60;
const windowMs = fast ? 1200 : 4000;
const unheardMs = 100 + 50;     // what others may not have heard: a gossip interval, and its way
const asksEachMs = windowMs / (2 * limit);  // all apps together: twice as many as are admitted
const user = 'bob';
const apps = ['app1', 'app2', 'app3'];

const cluster = new Cluster(process.argv[2]);
const windows = new Windows({ limit, windowMs, apps });
const show = screen({ apps, nodes: cluster.nodes, windows, expectedMs: 7 * windowMs });
const addresses = {};           // app -> URL
const nodeAt = (address) => cluster.nodes.find((node) => cluster.client[node] === address);

function explain(why) {
  console.error(`rate-limit: ${why.message}`);
  for (const name of [...cluster.nodes, ...apps]) {
    for (const line of cluster.log(name).trim().split('\n').slice(-5)) console.error(`  ${name}: ${line}`);
  }
}

let leaving;
function leave(code, why) {
  leaving ??= (async () => {
    show.end();
    if (why) explain(why);
    await cluster.end();
    process.exit(code);
  })();
  return leaving;
}
process.on('SIGINT', () => leave(130));
process.on('SIGTERM', () => leave(143));
process.on('SIGHUP', () => leave(129));
process.on('uncaughtException', (error) => leave(1, error));
cluster.onUnexpectedEnd = (why) => leave(1, why);

// ---- traffic ----
async function ask(app, as) {
  const answer = { app, askedAt: Date.now(), outcome: 'unanswered' };
  try {
    const reply = await fetch(addresses[app], { headers: { 'x-user': as }, signal: AbortSignal.timeout(5000) });
    const { resetTime, node } = await reply.json();
    if (reply.status === 200 || reply.status === 429) {
      answer.outcome = reply.status === 200 ? 'admitted' : 'refused';
      answer.endsAt = Date.parse(resetTime);
      answer.node = nodeAt(node);
    }
  } catch {
    // The app could not be reached, or was silent: no answer either.
  }
  return { ...answer, answeredAt: Date.now() };
}

async function askAndCount(app) {
  const answer = await ask(app, user);
  const before = windows.current;
  windows.add(answer);
  show.answer(answer);
  if (before && windows.current !== before) show.windowEnded(before);
}

// Asks at an even rate, also where this process is held up: then it catches up. Returns what
// stops it and waits for the last answers.
function startTraffic() {
  const began = Date.now();
  let begun = 0;
  const waiting = new Set();
  const timer = setInterval(() => {
    const due = (Date.now() - began) / asksEachMs;
    for (; begun < due; ++begun) {
      const one = askAndCount(apps[begun % apps.length]).finally(() => waiting.delete(one));
      waiting.add(one);
    }
  }, 10);
  return async () => {
    clearInterval(timer);
    await Promise.all(waiting);
  };
}

const windowIs = (number) => windows.current?.number >= number;
const isPartlyUsed = (number) => windowIs(number) && windows.current.total.admitted >= limit / 3;

// ---- the story ----
async function start() {
  show.event(`starting three nodes of Quipu: ${cluster.nodes.join(', ')}`);
  await cluster.open();
  // The store's keys begin with rl: (its default), so this namespace has them.
  await cluster.quipu('namespace', 'create', 'rl', '--decide', 'home', '--ack', 'memory');

  show.event(`starting three instances of the app, each at its own node: ${apps.join(', ')}`);
  await Promise.all(apps.map(async (app, i) => {
    const nodes = [...cluster.nodes.slice(i), ...cluster.nodes.slice(0, i)];
    addresses[app] = await cluster.startApp(app, nodes, { limit, windowMs });
    await until(30, `${app} to count`, async () => (await ask(app, 'nobody')).outcome === 'admitted');
  }));
}

async function tell() {
  show.event(`${user} may send ${limit} requests in ${windowMs / 1000} s, to all apps together, and sends twice as many`);
  show.begin();
  const stop = startTraffic();

  await until(30, 'window 2', () => windowIs(2));
  const home = await cluster.home();
  await until(30, 'window 3', () => isPartlyUsed(3));
  const killedAt = Date.now();
  windows.excuse({ why: `${home} killed`, since: killedAt - unheardMs, until: killedAt });
  await cluster.kill(home);
  show.node(home, false);
  show.event(`kill -9 of ${home}, the home of ${user}'s counter`);

  await until(30, 'window 5', () => windowIs(5));
  // Until all nodes see it again, they do not agree on which node is the home.
  const back = { why: `${home} back`, since: 0, until: Infinity };
  windows.excuse(back);
  cluster.startNode(home);
  show.node(home, true);
  show.event(`${home} is started again`);
  await until(30, `all nodes to see ${home}`, async () => {
    const agreed = await cluster.isWhole();
    windows.excuse(back);
    return agreed;
  });
  back.until = Date.now();
  show.event(`all nodes see ${home} again`);

  const last = windows.current.number + 1;
  await until(30, `the end of window ${last}`, () => windowIs(last + 1));
  await stop();
  return windows.list.slice(0, last);
}

function conclude(seen) {
  show.end();
  console.log(['', ...table(seen, apps, limit), ''].join('\n'));
  console.log('app1 to app3: admitted + refused. above: admitted beyond the limit. bound: how many that may be.');
  const wrong = faults(seen, limit);
  for (const fault of wrong) console.error(`rate-limit: ${fault}`);
  if (wrong.length > 0) return 1;
  const calm = seen.filter(({ excuses }) => excuses.length === 0).length;
  console.log(`exact: ${limit} of ${limit} in each of the ${calm} windows in which no node died or came back; `
    + 'within the bound in the others');
  return 0;
}

try {
  await start();
  await leave(conclude(await tell()));
} catch (error) {
  await leave(1, error);
}
