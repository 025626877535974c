/**
 * Moves the clock of a process, and of its children and threads: `node --import ./test/run/shifted-clock.mjs …` with `CLOCK_OFFSET_MS`,
 * which is added to what the machine's clock says. Timers and `performance` stay as they are, and so do Postgres and Temporal.
 */
const offset = Number(process.env.CLOCK_OFFSET_MS ?? 0);
if (!Number.isFinite(offset)) throw new Error('CLOCK_OFFSET_MS is a number of milliseconds.');

const now = () => Real.now() + offset;
const Real = globalThis.Date;
globalThis.Date = new Proxy(Real, {
  construct: (target, given, as) => Reflect.construct(target, given.length === 0 ? [now()] : given, as),
  apply: () => new Real(now()).toString(),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
});
