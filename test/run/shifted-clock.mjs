/**
 * Moves the clock of a process, and of its children and threads, by `CLOCK_OFFSET_MS`: `node --import ./test/run/shifted-clock.mjs …`.
 * Timers, `performance`, Postgres and Temporal still use the time of the machine.
 */
const offset = Number(process.env.CLOCK_OFFSET_MS ?? 0);
if (!Number.isFinite(offset)) throw new Error('CLOCK_OFFSET_MS is not a number of milliseconds.');

const now = () => Real.now() + offset;
const Real = globalThis.Date;
globalThis.Date = new Proxy(Real, {
  construct: (target, values, newTarget) =>
    Reflect.construct(target, values.length === 0 ? [now()] : values, newTarget),
  apply: () => new Real(now()).toString(),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
});
