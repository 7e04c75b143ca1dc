// processes.mjs: the three quipud and the three apps of the show, in a temporary directory.
//
// Invariant: every process that was started is in `running` until it has ended, so end()
// leaves no process and no file behind.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// Asks until it is true, at most for that many seconds.
export async function until(seconds, what, condition) {
  const deadline = Date.now() + seconds * 1000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited ${seconds} s in vain for ${what}`);
    await pause(20);
  }
}

// Below the ports that the kernel hands out: a killed node must get its own again.
async function freePorts(count) {
  for (;;) {
    const first = 10_000 + Math.floor(Math.random() * 20_000);
    const ports = Array.from({ length: count }, (_, i) => first + i);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return ports;
  }
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

class Processes {
  running = new Map();  // name -> child process
  work = mkdtempSync(path.join(os.tmpdir(), 'quipu-rate-limit-'));
  onUnexpectedEnd = () => {};

  start(name, program, words, environment) {
    const log = openSync(path.join(this.work, `${name}.log`), 'a');
    const child = spawn(program, words, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', log, log],
      detached: true,  // Ctrl-C reaches only this process, which then ends the others
    });
    closeSync(log);
    this.running.set(name, child);
    child.once('error', (error) => this.#ended(name, child, error.message));
    child.once('exit', (code, signal) => this.#ended(name, child, `it ended with ${code ?? signal}`));
  }

  async kill(name) {
    const child = this.running.get(name);
    this.running.delete(name);
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }

  async end() {
    await Promise.all([...this.running.keys()].map((name) => this.kill(name)));
    rmSync(this.work, { recursive: true, force: true });
  }

  log(name) {
    const file = path.join(this.work, `${name}.log`);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  #ended(name, child, why) {
    if (this.running.get(name) !== child) return;  // it was killed here
    this.running.delete(name);
    this.onUnexpectedEnd(new Error(`${name}: ${why}`));
  }
}

export class Cluster extends Processes {
  nodes = ['n1', 'n2', 'n3'];

  constructor(binaries) {
    super();
    this.binaries = binaries;
  }

  async open() {
    const ports = await freePorts(2 * this.nodes.length);
    this.client = Object.fromEntries(this.nodes.map((node, i) => [node, `127.0.0.1:${ports[2 * i]}`]));
    this.members = this.nodes
      .map((node, i) => `name=${node},client=${this.client[node]},peer=127.0.0.1:${ports[2 * i + 1]}`)
      .join(';');
    this.nodes.forEach((node) => this.startNode(node));
    await until(30, 'the nodes to be ready', () => this.isWhole());
  }

  startNode(node) {
    this.start(node, path.join(this.binaries, 'quipud'),
      ['--name', node, '--data', path.join(this.work, node), '--client', this.client[node]],
      { QUIPU_CLUSTER_MEMBERS: this.members });
  }

  // The preferred node of an app is the first one.
  async startApp(app, nodes, { limit, windowMs }) {
    this.start(app, process.execPath, [fileURLToPath(new URL('app.mjs', import.meta.url))], {
      LIMIT: limit, WINDOW_MS: windowMs, PORT: 0,
      QUIPU_NODES: nodes.map((node) => this.client[node]).join(),
    });
    let address;
    await until(30, `${app} to listen`, () => {
      address = /listening on (\S+)/.exec(this.log(app))?.[1];
      return address;
    });
    return address;
  }

  async quipu(...words) {
    const seeds = ['--node', Object.values(this.client).join()];
    const { stdout } = await promisify(execFile)(path.join(this.binaries, 'quipu'), [...words, ...seeds]);
    return stdout;
  }

  // What each node says of itself. While one is down, `quipu` fails and shows the others.
  async status() {
    const shown = await this.quipu('cluster', 'status', '-o', 'json').catch(({ stdout }) => stdout);
    const members = shown ? JSON.parse(shown).members : [];
    return Object.fromEntries(members.map((member) => [member.name, member]));
  }

  // Is every node ready, and does it see all others?
  async isWhole() {
    const members = Object.values(await this.status());
    return members.length === this.nodes.length
      && members.every(({ state, peers }) => state === 'ready' && peers.every((peer) => peer.state === 'up'));
  }

  // With `decide = home`, one node executes every change of a counter: its home. While a
  // single counter changes, that is the node which executed most.
  async home() {
    const executed = ({ stats }) => Object.entries(stats ?? {})
      .filter(([name]) => name.endsWith('_executed'))
      .reduce((sum, [, count]) => sum + count, 0);
    const members = Object.values(await this.status());
    return members.reduce((most, one) => (executed(one) > executed(most) ? one : most)).name;
  }
}
