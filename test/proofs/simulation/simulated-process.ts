/** Processes that a simulation starts and kills, and the time that they see. All of them run in one process of Node. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

/** A restart of a process creates a new object. */
export interface SimulatedProcess {
  readonly name: string;
  alive: boolean;
  /** A paused process continues at this time. In Unix milliseconds of the simulation. */
  standsUntil: number;
  skewMs: number;
}

/** Code of a simulated process. */
interface Running {
  process: SimulatedProcess;
  /** A timer of this length is a poll. The simulated clock does not stop at the time of a poll. */
  pollMs?: number;
  /** The clock for workflow code of the process. The time of a workflow does not change during a task. */
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

export const runningNow = (): Running | undefined => running.getStore();

export const runAs = <T>(context: Running, work: () => T): T => running.run(context, work);

/** The time, timers and random numbers of simulated processes. All other code uses the real time, timers and random numbers. */
export class VirtualTime {
  now: number;
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

  /** Returns the due timers of processes that can run, the earliest first. */
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

  /** @returns the next time after now at which a timer is due; undefined for never */
  next({ withPolls }: { withPolls: boolean }): number | undefined {
    const times = this.#living()
      .filter(({ polls }) => withPolls || !polls)
      .map(({ at, running: { process } }) => Math.max(at, process.standsUntil))
      .filter((at) => at > this.now);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Moves the clock to a later time. Polls before that time would find nothing, so each next poll is due after the new time. */
  moveTo(at: number, { withPolls }: { withPolls: boolean }): void {
    const passed = at - this.now;
    this.now = at;
    if (withPolls) return;
    for (const timer of this.#living()) if (timer.polls) timer.at += passed;
  }

  after(ms: number, context: Running, fire: () => void, everyMs?: number): Timer {
    const at = this.now + Math.max(0, ms);
    const timer: Timer = {
      at,
      order: this.#order++,
      running: context,
      polls: ms === context.pollMs,
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
      const context = runningNow();
      if (!context) return undefined;
      return context.now ? context.now() : this.now + context.process.skewMs;
    };
    const dateNow = () => here() ?? real.Date.now();
    const timer = (
      context: Running,
      fire: (...args: never[]) => void,
      ms = 0,
      args: unknown[] = [],
      everyMs?: number,
    ) => {
      const newTimer = this.after(ms, context, () => fire(...(args as never[])), everyMs);
      return Object.assign(newTimer, { unref: () => newTimer, ref: () => newTimer, hasRef: () => true });
    };
    globalThis.Date = new Proxy(real.Date, {
      construct: (target, args: unknown[], newTarget) =>
        Reflect.construct(target, args.length === 0 ? [dateNow()] : args, newTarget) as Date,
      get: (target, name, receiver) => (name === 'now' ? dateNow : (Reflect.get(target, name, receiver) as unknown)),
    });
    globalThis.setTimeout = ((fire: (...args: never[]) => void, ms?: number, ...args: unknown[]) => {
      const context = runningNow();
      return context ? timer(context, fire, ms, args) : real.setTimeout(() => fire(...(args as never[])), ms);
    }) as unknown as typeof setTimeout;
    globalThis.setInterval = ((fire: (...args: never[]) => void, ms = 1, ...args: unknown[]) => {
      const context = runningNow();
      return context ? timer(context, fire, ms, args, ms) : real.setInterval(() => fire(...(args as never[])), ms);
    }) as unknown as typeof setInterval;
    const clear = (timerHandle: unknown, really: (handle: never) => void) => {
      if (this.#timers.has(timerHandle as Timer)) this.cancel(timerHandle);
      else if (typeof timerHandle !== 'object' || timerHandle === null || !('running' in timerHandle))
        really(timerHandle as never);
    };
    globalThis.clearTimeout = (timerHandle: unknown) => clear(timerHandle, real.clearTimeout);
    globalThis.clearInterval = (timerHandle: unknown) => clear(timerHandle, real.clearInterval);
    Math.random = () => (runningNow() ? this.random() : real.random());
    performance.now = () => here() ?? real.performanceNow.call(performance);
    timersPromises.setTimeout = <T>(ms?: number, value?: T, options?: object) => {
      const context = runningNow();
      if (!context) return real.sleep(ms, value, options);
      return new Promise<T>((resolve) => void this.after(ms ?? 0, context, () => resolve(value as T)));
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
