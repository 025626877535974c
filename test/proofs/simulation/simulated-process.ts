/** Processes that a simulation makes and kills, and the time that they see. All of them run in this one process of Node. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

/** One life of a process: a restart makes a new one. */
export interface SimulatedProcess {
  readonly name: string;
  alive: boolean;
  /** Until this time it stands still, as under a long pause; in Unix milliseconds of the simulation. */
  standsUntil: number;
  /** How far its clock is off, in milliseconds. */
  skewMs: number;
}

/** Code that runs for a process. */
interface Running {
  process: SimulatedProcess;
  /** Timers of this length are polls: the clock need not stop at each of them. */
  pollMs?: number;
  /** In place of the process's clock: a workflow's time stands still during a task. */
  now?: () => number;
}

interface Timer {
  at: number;
  order: number;
  running: Running;
  polls: boolean;
  everyMs?: number;
  fire: () => void;
}

const running = new AsyncLocalStorage<Running>();

/** The code that runs now, undefined where none of the simulation does. */
export const runningNow = (): Running | undefined => running.getStore();

/** Runs work as code of a process. @returns what the work returns */
export const runAs = <T>(who: Running, work: () => T): T => running.run(who, work);

/** Time, timers and chance of simulated processes. Code outside of the simulation keeps the real ones. */
export class VirtualTime {
  now: number;
  /** In place of `Math.random` in simulated processes. */
  random: () => number = () => 0;
  #timers = new Set<Timer>();
  #order = 0;

  constructor(now: number) {
    this.now = now;
  }

  begin(now: number, random: () => number): void {
    this.now = now;
    this.random = random;
    this.#timers.clear();
    this.#order = 0;
  }

  /** Timers whose time has come and whose process can run, the first first. */
  due(): Timer[] {
    return this.#living()
      .filter(({ at, running: who }) => at <= this.now && who.process.standsUntil <= this.now)
      .toSorted((one, other) => one.at - other.at || one.order - other.order);
  }

  fire(timer: Timer): void {
    if (timer.everyMs === undefined) this.#timers.delete(timer);
    else timer.at = this.now + timer.everyMs;
    runAs(timer.running, timer.fire);
  }

  /** @returns when something is due next, later than now; undefined for never */
  next({ withPolls }: { withPolls: boolean }): number | undefined {
    const times = this.#living()
      .filter(({ polls }) => withPolls || !polls)
      .map(({ at, running: { process } }) => Math.max(at, process.standsUntil))
      .filter((at) => at > this.now);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Moves the clock. Polls in between have found nothing: the next ones are due after it. */
  moveTo(at: number, { withPolls }: { withPolls: boolean }): void {
    const passed = at - this.now;
    this.now = at;
    if (withPolls) return;
    for (const timer of this.#living()) if (timer.polls) timer.at += passed;
  }

  after(ms: number, who: Running, fire: () => void, everyMs?: number): Timer {
    const at = this.now + Math.max(0, ms);
    const timer: Timer = {
      at,
      order: this.#order++,
      running: who,
      polls: ms === who.pollMs,
      fire,
      ...(everyMs !== undefined && { everyMs }),
    };
    this.#timers.add(timer);
    return timer;
  }

  cancel(timer: unknown): void {
    this.#timers.delete(timer as Timer);
  }

  #living(): Timer[] {
    for (const timer of this.#timers) if (!timer.running.process.alive) this.#timers.delete(timer);
    return [...this.#timers];
  }

  /** Puts the simulation's time in place of the real one, for code of simulated processes. @returns takes it away again */
  install(): () => void {
    const real = {
      Date: globalThis.Date,
      setTimeout: globalThis.setTimeout,
      setInterval: globalThis.setInterval,
      clearTimeout: globalThis.clearTimeout,
      clearInterval: globalThis.clearInterval,
      random: Math.random,
      performanceNow: performance.now,
      sleep: timersPromises.setTimeout,
    };
    const here = () => {
      const who = runningNow();
      if (!who) return undefined;
      return who.now ? who.now() : this.now + who.process.skewMs;
    };
    const dateNow = () => here() ?? real.Date.now();
    const timer = (
      who: Running,
      fire: (...given: never[]) => void,
      ms = 0,
      given: unknown[] = [],
      everyMs?: number,
    ) => {
      const made = this.after(ms, who, () => fire(...(given as never[])), everyMs);
      return Object.assign(made, { unref: () => made, ref: () => made, hasRef: () => true });
    };
    globalThis.Date = new Proxy(real.Date, {
      construct: (target, given: unknown[], newTarget) =>
        Reflect.construct(target, given.length === 0 ? [dateNow()] : given, newTarget) as Date,
      get: (target, name, receiver) => (name === 'now' ? dateNow : (Reflect.get(target, name, receiver) as unknown)),
    });
    globalThis.setTimeout = ((fire: (...given: never[]) => void, ms?: number, ...given: unknown[]) => {
      const who = runningNow();
      return who ? timer(who, fire, ms, given) : real.setTimeout(() => fire(...(given as never[])), ms);
    }) as unknown as typeof setTimeout;
    globalThis.setInterval = ((fire: (...given: never[]) => void, ms = 1, ...given: unknown[]) => {
      const who = runningNow();
      return who ? timer(who, fire, ms, given, ms) : real.setInterval(() => fire(...(given as never[])), ms);
    }) as unknown as typeof setInterval;
    const clear = (made: unknown, really: (made: never) => void) => {
      if (this.#timers.has(made as Timer)) this.cancel(made);
      else if (typeof made !== 'object' || made === null || !('running' in made)) really(made as never);
    };
    globalThis.clearTimeout = (made: unknown) => clear(made, real.clearTimeout);
    globalThis.clearInterval = (made: unknown) => clear(made, real.clearInterval);
    Math.random = () => (runningNow() ? this.random() : real.random());
    performance.now = () => here() ?? real.performanceNow.call(performance);
    timersPromises.setTimeout = <T>(ms?: number, value?: T, options?: object) => {
      const who = runningNow();
      if (!who) return real.sleep(ms, value, options);
      return new Promise<T>((resolve) => void this.after(ms ?? 0, who, () => resolve(value as T)));
    };
    syncBuiltinESMExports();
    return () => {
      globalThis.Date = real.Date;
      globalThis.setTimeout = real.setTimeout;
      globalThis.setInterval = real.setInterval;
      globalThis.clearTimeout = real.clearTimeout;
      globalThis.clearInterval = real.clearInterval;
      Math.random = real.random;
      performance.now = real.performanceNow;
      timersPromises.setTimeout = real.sleep;
      syncBuiltinESMExports();
    };
  }
}
