/**
 * A Temporal without a network: runs of workflows, their tasks, activities and timers. The schedule chooses the next of its `actions`.
 * The class models only the parts that the product needs. A run cannot end before it has read its signals. Activities run at least once,
 * with retries, time limits and heartbeats. The class also has local activities and `continueAsNew`.
 */
import { runAs, type SimulatedProcess, type VirtualTime } from '../simulated-process.ts';
import { ContinuedAsNew, runOfCode, type ActivityLimits, type RunPrimitives } from './workflow.ts';
import type { Run as RunToStart } from '../../../../platform/engine/workflow-types.ts';
import { workflowIdOf } from '../../../../platform/engine/workflow-types.ts';

export interface Action {
  label: string;
  run(): void | Promise<void>;
}

export interface ActivityTask {
  workflowId: string;
  workflowType: string;
  clubId: string | null;
  name: string;
  args: readonly unknown[];
  attempt: number;
  local: boolean;
  heartbeatTimeoutMs?: number;
}

interface Activity {
  task: ActivityTask;
  limits: ActivityLimits;
  worker?: SimulatedProcess;
  deadline?: unknown;
  /** The earliest time of the next attempt. */
  from: number;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

interface Waiting {
  is: () => boolean;
  resolve: (isMet: boolean) => void;
  timer: unknown;
  at: number;
}

interface Run extends RunPrimitives {
  id: string;
  type: string;
  clubId: string | null;
  /** The input of its next task, signals first. */
  signals: number;
  answers: (() => void)[];
  hasBegun: boolean;
  starter: SimulatedProcess | undefined;
  args: readonly unknown[];
  handlers: Map<string, () => void>;
  waiting: Set<Waiting>;
  activities: Set<Activity>;
  process: SimulatedProcess;
  taskTime: number;
  steps: number;
}

const ms = (text: string | undefined): number | undefined => {
  const parts = /^(\d+)(ms|s|m|h)$/.exec(text ?? '');
  if (!parts) return undefined;
  return Number(parts[1]) * { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[parts[2] as 'ms' | 's' | 'm' | 'h'];
};

type Workflow = (...args: unknown[]) => Promise<unknown>;

interface TemporalSettings {
  time: VirtualTime;
  workflows: Readonly<Record<string, Workflow>>;
  stepsOfARun: () => number;
  /** @returns the result that the process reports; never if the process dies */
  perform: (worker: SimulatedProcess, task: ActivityTask, beat: () => void) => Promise<unknown>;
  isGivenTwice: () => boolean;
  settle: () => Promise<void>;
  /** The server calls this function when a run fails. No run of the product may fail. */
  onFailedRun: (workflowId: string, error: unknown) => void;
}

export class SimulatedTemporal {
  readonly runs = new Map<string, Run>();
  readonly #settings: TemporalSettings;
  readonly #server: SimulatedProcess = { name: 'temporal', alive: true, standsUntil: 0, skewMs: 0 };

  constructor(settings: TemporalSettings) {
    this.#settings = settings;
  }

  /** @param starter the process that gets the first task if it is still alive @returns whether no such run existed before */
  start(run: RunToStart, extraArguments: readonly unknown[] = [], starter?: SimulatedProcess): boolean {
    const id = workflowIdOf(run.workflowType, run.subjectId);
    if (this.runs.has(id)) return false;
    this.#begin(id, run.workflowType, run.clubId, [run.subjectId, ...extraArguments]).starter = starter;
    return true;
  }

  signalWithStart(run: RunToStart): void {
    this.start(run);
    const known = this.runs.get(workflowIdOf(run.workflowType, run.subjectId));
    if (known) known.signals++;
  }

  startScheduled(type: string): void {
    if (!this.runs.has(type)) this.#begin(type, type, null, []);
  }

  /** Deletes a run, as a power loss of Temporal could do. */
  forget(id: string): void {
    const run = this.runs.get(id);
    if (!run) return;
    run.process.alive = false;
    for (const { deadline } of run.activities) this.#settings.time.cancel(deadline);
    this.runs.delete(id);
  }

  runsOf(clubId: string): string[] {
    return [...this.runs.values()].filter((run) => run.clubId === clubId).map(({ id }) => id);
  }

  /** Terminates the runs of a club, except this one. @returns their ids */
  terminateRuns(clubId: string, except: string): string[] {
    const ids = [...this.runs.values()].filter((run) => run.clubId === clubId && run.id !== except).map(({ id }) => id);
    for (const id of ids) this.forget(id);
    return ids;
  }

  /** @returns the time of the run's next action; 0 if a task or an activity is open; undefined if the run does not exist */
  looksAt(id: string): number | undefined {
    const run = this.runs.get(id);
    if (!run) return undefined;
    if (!run.hasBegun || run.signals > 0 || run.answers.length > 0 || run.activities.size > 0) return 0;
    return Math.min(...[...run.waiting].map(({ at }) => at));
  }

  actions(workers: readonly SimulatedProcess[], choose: (below: number) => number): Action[] {
    const actions: Action[] = [];
    for (const run of this.runs.values()) {
      if (!run.hasBegun || run.signals > 0 || run.answers.length > 0) {
        actions.push({ label: `task of ${run.id}`, run: () => this.#task(run) });
      }
      for (const activity of run.activities) {
        if (activity.worker !== undefined || activity.from > this.#settings.time.now || workers.length === 0) continue;
        actions.push({
          label: `${activity.task.name} of ${run.id}, attempt ${activity.task.attempt}`,
          run: () => {
            const starter = workers.find((one) => activity.task.local && one === run.starter);
            const worker = starter ?? workers[choose(workers.length)];
            if (worker) this.#perform(run, activity, worker, workers);
          },
        });
      }
    }
    return actions;
  }

  /**
   * Handles the death of a process. Its local activities end when the workflow task times out. Its other activities end at their time
   * limits.
   */
  died(process: SimulatedProcess): void {
    for (const run of this.runs.values()) {
      for (const activity of run.activities) {
        if (activity.worker !== process || !activity.task.local) continue;
        this.#settings.time.cancel(activity.deadline);
        delete activity.worker;
        this.#later(activity, workflowTaskMs);
      }
    }
  }

  /** Times out all activities, although their workers live and continue. */
  timeOutAll(): void {
    for (const id of this.runs.keys()) this.timeOut(id);
  }

  /** Times out the activities of a run, although their workers live and continue. */
  timeOut(id: string): void {
    const run = this.runs.get(id);
    for (const activity of run?.activities ?? [])
      if (run && activity.worker !== undefined) this.#failed(run, activity, new Error('timed out'));
  }

  #begin(id: string, type: string, clubId: string | null, args: readonly unknown[]): Run {
    const { time, stepsOfARun } = this.#settings;
    const process: SimulatedProcess = { name: 'workflows', alive: true, standsUntil: 0, skewMs: 0 };
    const mostSteps = stepsOfARun();
    const run: Run = {
      id,
      type,
      clubId,
      args,
      signals: 0,
      answers: [],
      hasBegun: false,
      starter: undefined,
      handlers: new Map(),
      waiting: new Set(),
      activities: new Set(),
      process,
      taskTime: time.now,
      steps: 0,
      get continueAsNewSuggested() {
        return run.steps >= mostSteps;
      },
      handle(signal, handler) {
        run.handlers.set(signal, handler);
      },
      waitFor: (is, limit) => this.#waitFor(run, is, limit),
      runActivity: (name, inputs, limits) => this.#schedule(run, name, inputs, limits),
    };
    this.runs.set(id, run);
    return run;
  }

  #waitFor(run: Run, is: () => boolean, limit: number | undefined): Promise<boolean> {
    if (is()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const at = limit === undefined ? Infinity : run.taskTime + limit;
      const waiting: Waiting = { is, resolve, at, timer: undefined };
      if (limit !== undefined) {
        const answer = () =>
          void run.answers.push(() => {
            if (run.waiting.delete(waiting)) resolve(false);
          });
        waiting.timer = this.#settings.time.after(at - this.#settings.time.now, { process: run.process }, answer);
      }
      run.waiting.add(waiting);
    });
  }

  #schedule(run: Run, name: string, args: readonly unknown[], limits: ActivityLimits): Promise<unknown> {
    run.steps++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const heartbeatTimeoutMs = ms(limits.heartbeatTimeout);
    const task: ActivityTask = {
      workflowId: run.id,
      workflowType: run.type,
      clubId: run.clubId,
      name,
      args,
      attempt: 1,
      local: limits.local ?? false,
      ...(heartbeatTimeoutMs !== undefined && { heartbeatTimeoutMs }),
    };
    const activity: Activity = { task, limits, from: this.#settings.time.now, resolve, reject };
    run.activities.add(activity);
    return promise;
  }

  #perform(run: Run, activity: Activity, worker: SimulatedProcess, workers: readonly SimulatedProcess[]): void {
    const { task, limits } = activity;
    const { attempt } = task;
    activity.worker = worker;
    const isCurrent = () => this.runs.get(run.id) === run && task.attempt === attempt && activity.worker === worker;
    const limitMs = ms(limits.startToCloseTimeout) ?? 60_000;
    const timesOutAt = this.#settings.time.now + limitMs;
    const arm = () => {
      this.#settings.time.cancel(activity.deadline);
      const beatMs = task.heartbeatTimeoutMs ?? limitMs;
      const remainingMs = Math.min(beatMs, timesOutAt - this.#settings.time.now);
      activity.deadline = this.#settings.time.after(remainingMs, { process: this.#server }, () => {
        if (isCurrent()) this.#failed(run, activity, new Error('timed out'));
      });
    };
    arm();
    const beat = () => {
      if (isCurrent()) arm();
    };
    const second = workers.find((one) => one !== worker) ?? worker;
    if (this.#settings.isGivenTwice()) this.#settings.perform(second, { ...task }, () => {}).catch(() => {});
    this.#settings.perform(worker, { ...task }, beat).then(
      (result) => {
        if (isCurrent()) this.#answered(run, activity, () => activity.resolve(result));
      },
      (error: unknown) => {
        if (isCurrent()) this.#failed(run, activity, error);
      },
    );
  }

  #answered(run: Run, activity: Activity, answer: () => void): void {
    this.#settings.time.cancel(activity.deadline);
    run.activities.delete(activity);
    run.answers.push(answer);
  }

  #failed(run: Run, activity: Activity, error: unknown): void {
    this.#settings.time.cancel(activity.deadline);
    const { task } = activity;
    const { retry } = activity.limits;
    if (task.attempt === retry?.maximumAttempts) return this.#answered(run, activity, () => activity.reject(error));
    const first = ms(retry?.initialInterval) ?? 1_000;
    const longest = ms(retry?.maximumInterval) ?? 100 * first;
    const pause = Math.min(longest, first * (retry?.backoffCoefficient ?? 2) ** Math.min(task.attempt - 1, 20));
    task.attempt++;
    delete activity.worker;
    this.#later(activity, pause);
  }

  /** Delays an activity by a timer, so that the clock stops at the time of its next attempt. */
  #later(activity: Activity, pause: number): void {
    activity.from = this.#settings.time.now + pause;
    this.#settings.time.after(pause, { process: this.#server }, () => {});
  }

  async #task(run: Run): Promise<void> {
    const { time, settle, workflows } = this.#settings;
    run.taskTime = time.now;
    const signals = run.signals;
    const answers = run.answers.splice(0);
    run.signals = 0;
    const within = <T>(work: () => T) =>
      runAs({ process: run.process, now: () => run.taskTime }, () => runOfCode.run(run, work));
    if (!run.hasBegun) {
      run.hasBegun = true;
      const workflow = workflows[run.type];
      if (!workflow) throw new Error(`There is no workflow ${run.type}`);
      // A signal can arrive together with the start. Handles such a signal as soon as the code has set the handler.
      within(
        () =>
          void workflow(...run.args).then(
            () => this.#ended(run),
            (error: unknown) => this.#ended(run, error),
          ),
      );
    }
    for (let count = 0; count < signals; count++) within(() => run.handlers.get('lookAgain')?.());
    await this.#unblock(run, settle);
    for (const answer of answers) {
      answer();
      await this.#unblock(run, settle);
    }
  }

  async #unblock(run: Run, settle: () => Promise<void>): Promise<void> {
    for (;;) {
      await settle();
      const metConditions = [...run.waiting].filter(({ is }) => is());
      if (metConditions.length === 0) return;
      for (const waiting of metConditions) {
        run.waiting.delete(waiting);
        this.#settings.time.cancel(waiting.timer);
        waiting.resolve(true);
      }
    }
  }

  #ended(run: Run, error?: unknown): void {
    if (this.runs.get(run.id) !== run) return;
    this.forget(run.id);
    if (error instanceof ContinuedAsNew) {
      const unanswered = run.signals;
      this.#begin(run.id, run.type, run.clubId, error.args);
      const next = this.runs.get(run.id);
      if (next) next.signals = unanswered;
      return;
    }
    if (error !== undefined && run.id !== 'sweep') this.#settings.onFailedRun(run.id, error);
  }
}

/** The time after which the server gives a workflow task to another worker. */
const workflowTaskMs = 10_000;
