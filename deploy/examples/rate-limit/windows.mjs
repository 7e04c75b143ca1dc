// windows.mjs: what the apps answered, window by window, and whether the limit held.
//
// A window begins with the first request that is counted in it. Each answer says when its
// window ends, so answers of one window name the same end, but for the time they travelled.
// Pure: no clock, socket or screen.

const counts = () => ({ admitted: 0, refused: 0, unanswered: 0 });

export class Windows {
  list = [];

  constructor({ limit, windowMs, apps }) {
    Object.assign(this, { limit, windowMs, apps });
  }

  get current() {
    return this.list.at(-1);
  }

  // answer: {app, askedAt, answeredAt, outcome: admitted | refused | unanswered, endsAt}.
  // An unanswered request has no endsAt, and belongs to the window in which it was asked.
  add(answer) {
    const { app, askedAt, answeredAt, outcome, endsAt } = answer;
    const window = endsAt === undefined ? this.#at(askedAt) : this.#ofEnd(endsAt);
    if (!window) return;
    ++window.total[outcome];
    ++window.byApp[app][outcome];
    if (outcome === 'admitted') window.admitted.push({ askedAt, answeredAt });
    if (outcome === 'refused') window.refusedSince = Math.min(window.refusedSince, answeredAt);
  }

  // The current window may have an error. change: {why, since, until}, where the nodes may not
  // all know of what was admitted between these instants.
  excuse(change) {
    if (!this.current.excuses.includes(change)) this.current.excuses.push(change);
  }

  #at(instant) {
    return this.list.findLast(({ endsAt }) => endsAt - this.windowMs <= instant) ?? this.list[0];
  }

  #ofEnd(endsAt) {
    const known = this.list.findLast((one) => Math.abs(one.endsAt - endsAt) < this.windowMs / 2);
    if (known) return known;
    this.list.push({
      number: this.list.length + 1,
      endsAt,
      total: counts(),
      byApp: Object.fromEntries(this.apps.map((app) => [app, counts()])),
      admitted: [],
      refusedSince: Infinity,  // when the first refusal was answered
      excuses: [],
    });
    return this.current;
  }
}

export const asked = ({ total }) => total.admitted + total.refused + total.unanswered;
export const above = ({ total }, limit) => Math.max(0, total.admitted - limit);

// How many requests may have been admitted too many: those that a node may not have known.
export function bound({ admitted, excuses }) {
  const unknown = ({ askedAt, answeredAt }) =>
    excuses.some(({ since, until }) => answeredAt >= since && askedAt <= until);
  return admitted.filter(unknown).length;
}

// How many were admitted although another request had been refused before they were asked.
const late = ({ admitted, refusedSince }) => admitted.filter(({ askedAt }) => askedAt > refusedSince).length;

// What was wrong in these windows: an empty list, if nothing was.
export function faults(windows, limit) {
  const found = [];
  for (const window of windows) {
    const { number, byApp, total, excuses } = window;
    const check = (holds, what) => holds || found.push(`window ${number}: ${what}`);
    check(above(window, limit) <= bound(window),
      `${total.admitted} were admitted: more than ${limit} and an error of ${bound(window)}`);
    if (excuses.length > 0) continue;
    check(total.refused > 0, 'nothing was refused');
    check(total.admitted >= limit, `only ${total.admitted} of ${limit} were admitted`);
    check(late(window) === 0, `${late(window)} were admitted after a refusal`);
    check(total.unanswered === 0, `${total.unanswered} were not answered`);
    for (const [app, { admitted }] of Object.entries(byApp)) check(admitted > 0, `${app} admitted none`);
  }
  return found;
}

// The lines of a table. Each app's cell has admitted + refused.
export function table(windows, apps, limit) {
  const rows = [['window', 'asked', ...apps, 'admitted', 'refused', 'no answer', 'limit', 'above', 'bound', '']];
  for (const window of windows) {
    const { number, byApp, total, excuses } = window;
    const each = apps.map((app) => `${byApp[app].admitted} + ${byApp[app].refused}`);
    rows.push([number, asked(window), ...each, total.admitted, total.refused, total.unanswered,
      limit, above(window, limit), bound(window), excuses.map(({ why }) => why).join(', ')]);
  }
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => `${row[column]}`.length)));
  const notes = widths.length - 1;
  return rows.map((row) => row
    .map((cell, column) => (column === notes ? `${cell}` : `${cell}`.padStart(widths[column])))
    .join('  ').trimEnd());
}
