// screen.mjs: shows a run while it happens. On a terminal it is a picture, drawn again and
// again in the same place:
//
//   app1 -> n1  ████▆▁▁▁▁████▆▁▁▁▁      green: admitted, red: refused, yellow: no answer
//   n1          ━━━━━━━━━✗     ━━━      when the node was up
//
// Elsewhere it prints a line for each event and each window.
import { asked } from './windows.mjs';

const labelWidth = 15;
const cellMs = (total, columns) => Math.ceil(total / Math.min(columns - labelWidth - 10, 90));
const colour = (code, text) => `\x1b[${code}m${text}\x1b[0m`;
const green = 32, red = 31, yellow = 33, grey = 90;

class Lines {
  begin() {}
  answer() {}
  node() {}

  event(text) {
    console.log(text);
  }

  windowEnded(window) {
    const { total, byApp } = window;
    const each = Object.entries(byApp).map(([app, { admitted }]) => `${app} ${admitted}`).join(', ');
    const lost = total.unanswered > 0 ? `, no answer to ${total.unanswered}` : '';
    console.log(`window ${window.number}: asked ${asked(window)}, admitted ${total.admitted} (${each}), `
      + `refused ${total.refused}${lost}`);
  }

  end() {}
}

class Picture {
  #apps = new Map();   // app -> {through: node, cells: [{admitted, refused, unanswered}]}
  #nodes = new Map();  // node -> [{at, up}]
  #events = [];
  #drawn = 0;          // lines on the screen

  constructor({ apps, nodes, windows, expectedMs, home }) {
    this.windows = windows;
    this.expectedMs = expectedMs;
    for (const app of apps) this.#apps.set(app, { through: '', cells: [] });
    for (const node of nodes) this.#nodes.set(node, [{ at: 0, up: true }]);
  }

  begin() {
    this.began = Date.now();
    this.cellMs = cellMs(this.expectedMs, process.stdout.columns);
    process.stdout.write('\x1b[?25l');  // no cursor
    this.timer = setInterval(() => this.#draw(), 100);
  }

  answer({ app, answeredAt, outcome, node }) {
    const row = this.#apps.get(app);
    if (node) row.through = node;
    const cell = (row.cells[this.#column(answeredAt)] ??= { admitted: 0, refused: 0, unanswered: 0 });
    ++cell[outcome];
  }

  node(node, up) {
    this.#nodes.get(node).push({ at: Date.now() - this.began, up });
  }

  event(text) {
    if (!this.began) return console.log(text);
    const seconds = ((Date.now() - this.began) / 1000).toFixed(1);
    this.#events.push(`${seconds.padStart(6)} s  ${text}`);
  }

  windowEnded() {}

  end() {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = undefined;
    this.#draw();
    process.stdout.write('\x1b[?25h');
  }

  #column(instant) {
    return Math.floor((instant - this.began) / this.cellMs);
  }

  #draw() {
    const now = this.#column(Date.now());
    const lines = ['', this.#legend(), ''];
    for (const [app, { through, cells }] of this.#apps) {
      lines.push(label(`${app} -> ${through}`) + Array.from({ length: now }, (_, i) => answers(cells[i])).join(''));
    }
    for (const [node, changes] of this.#nodes) {
      lines.push(label(node) + Array.from({ length: now + 1 }, (_, i) => this.#life(changes, i)).join(''));
    }
    lines.push('', this.#window(), '', ...this.#events, '');
    const up = this.#drawn > 0 ? `\x1b[${this.#drawn}A` : '';
    process.stdout.write(up + lines.map((line) => `${line}\x1b[K\n`).join(''));
    this.#drawn = lines.length;
  }

  #legend() {
    return `  ${colour(green, '█')} admitted   ${colour(red, '█')} refused   ${colour(yellow, '█')} no answer`;
  }

  #life(changes, column) {
    const here = changes.findLast(({ at }) => Math.floor(at / this.cellMs) <= column);
    if (here.up) return colour(green, '━');
    return Math.floor(here.at / this.cellMs) === column ? colour(red, '✗') : ' ';
  }

  #window() {
    const { current, limit } = this.windows;
    if (!current) return '';
    const { admitted, refused } = current.total;
    const left = Math.max(0, current.endsAt - Date.now()) / 1000;
    const width = 16;
    const filled = Math.min(width, Math.round((width * admitted) / limit));
    const bar = colour(green, '█'.repeat(filled)) + colour(grey, '░'.repeat(width - filled));
    return `${label(`window ${current.number}`)}${bar} ${admitted} of ${limit} admitted, ${refused} refused, `
      + `ends in ${left.toFixed(1)} s`;
  }
}

const label = (text) => `  ${text}`.padEnd(labelWidth);

// A cell's height is the share that was admitted.
function answers(cell) {
  if (!cell) return ' ';
  const { admitted, refused, unanswered } = cell;
  if (unanswered > 0) return colour(yellow, '█');
  const eighths = Math.round((8 * admitted) / (admitted + refused));
  if (eighths === 0) return colour(red, '█');
  return colour(`${green};41`, ' ▁▂▃▄▅▆▇█'[Math.max(1, eighths)]);
}

export function screen(options) {
  const { isTTY, columns, rows } = process.stdout;
  const fits = isTTY && columns >= 80 && rows >= 20;
  const plain = process.env.TERM === 'dumb' || process.env.NO_COLOR;
  return fits && !plain ? new Picture(options) : new Lines();
}
