/**
 * Runs one schedule. The schedule decides which process takes the next step, and which faults happen between any two statements. All
 * relevant events pass through `#actions`: statements, calls to outside services, signals, tasks, timers and commands.
 */
import { rescueOverdue } from '../../../platform/engine/sweeper.ts';
import { workflowIdOf, workflowTypes, type Run } from '../../../platform/engine/workflow-types.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import type { WorkflowClient } from '../../../worker/temporal/workflow-client.ts';
import type { Decisions } from './decisions.ts';
import type { SimulatedPostgres, Statement } from './postgres.ts';
import { runAs, runningNow, type SimulatedProcess, type VirtualTime } from './simulated-process.ts';
import { BrokenInvariant, mustHold, type Command, type Stage } from './stage.ts';
import { simulatedClient } from './temporal/client.ts';
import { SimulatedTemporal, type Action } from './temporal/server.ts';
import { backlogAt, expectSomebodyLooks, hasFacts, hasOverdue } from './waiting.ts';
import { makeWorker, type SimulatedWorker } from './workers.ts';

/** Each schedule has only some of these faults, so that each fault also happens without the others. */
const faultKinds = [
  'crash',
  'stand',
  'skew',
  'cut',
  'away',
  'unnotified',
  'double',
  'delay',
  'lose',
  'forget',
  'hurry',
  'sweep',
  'twice',
] as const;
/** A schedule has at most one fault of each pair, because one random number decides about both faults. */
const insteadOf = {
  cut: 'outage',
  hurry: 'lapse',
  sweep: 'deploy',
  unnotified: 'linger',
  double: 'pauses',
  away: 'elsewhere',
} as const;
type FaultKind = (typeof faultKinds)[number] | (typeof insteadOf)[keyof typeof insteadOf];

interface Outcome {
  steps: number;
  trace: readonly string[];
}

const maxSteps = 6_000;
/** A run may read its row this long after the row is due, because each wait of a run lasts at least a second (ENG-1). */
const slackMs = 2_500;
const workerNames = ['worker 1', 'worker 2'] as const;
const restartMs = 1_000;
const usualLeaseMs = 60_000;
/** A process can pause between two statements. The other processes then make this number of steps before the paused process continues. */
const lingeredSteps = [4, 8, 16, 32, 64] as const;
const lingeredStepsPaced = [16, 64, 256] as const;
/** In a paced schedule, about one in 12 steps is a command while processes are busy. */
const pacedSteps = 12;
/** In milliseconds, for paced schedules. In other schedules a late signal can arrive at any later step. */
const signalDelaysMs = [0, 1_000, 4_000, 30_000] as const;
const lockTimeoutMs = 5_000;
/** Less than `idle_in_transaction_session_timeout`. */
const idleInTransactionMs = 50_000;

interface Gate {
  process: SimulatedProcess;
  label: string;
  pass: () => void;
  statement?: Statement;
  /** The statement waits for a lock since this time. */
  parkedAt?: number;
}

/** A signal that arrives some time after it was sent. */
interface LateSignal {
  run: Run;
  /** In Unix milliseconds. */
  from: number;
  /** Whether the signal has already arrived once in time. */
  isDouble: boolean;
}

interface ActionOf extends Action {
  process?: SimulatedProcess;
}

const { setImmediate: soonReal } = globalThis;
const realTick = () => new Promise<void>((resolve) => void soonReal(resolve));
const uuids = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;

export class Simulation {
  readonly trace: string[] = [];
  readonly decisions: Decisions;
  readonly time: VirtualTime;
  readonly postgres: SimulatedPostgres;
  /** For scenarios. The simulation does not schedule statements to this database. */
  readonly db: Database;
  steps = 0;
  /** Whether the schedule lost a run or a signal, so that only the sweeper finds the work. */
  lossy = false;
  /** Whether a process paused or was slow, or a clock was wrong. Leases may then have expired while their processes were alive. */
  slow = false;
  /** Whether the simulation let leases expire before their time. */
  lapsed = false;
  /** Effects that happened, but were not recorded because of an interruption. */
  cuts = 0;
  /** Whether an attempt of an activity reached two workers. */
  doubled = false;

  readonly #temporal: SimulatedTemporal;
  readonly #faults = new Set<FaultKind>();
  readonly #gates: Gate[] = [];
  readonly #parked: Gate[] = [];
  readonly #freed: Gate[] = [];
  readonly #delayed: LateSignal[] = [];
  readonly #workers = new Map<string, SimulatedWorker>();
  readonly #world: SimulatedProcess = { name: 'world', alive: true, standsUntil: 0, skewMs: 0 };
  readonly #names = new Map<string, number>();
  readonly #requests = new Set<SimulatedProcess>();
  #lingers: { process: SimulatedProcess; untilStep: number } | undefined;
  #stage: Stage | undefined;
  #turbulent = true;
  #fault: unknown;
  #requestCount = 0;
  /** Whether the schedule is paced (playing.ts). */
  readonly isPaced: boolean;

  constructor(
    parts: { time: VirtualTime; postgres: SimulatedPostgres; decisions: Decisions; isPaced: boolean },
    workflows: Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>,
  ) {
    this.time = parts.time;
    this.postgres = parts.postgres;
    this.decisions = parts.decisions;
    this.isPaced = parts.isPaced;
    this.db = new Database(parts.postgres.source, { notify: () => this.#notify() });
    this.postgres.onStatement = (statement) => {
      this.#enter({
        process: statement.process,
        label: shortened(statement.text),
        pass: () => {},
        statement,
      });
    };
    this.#temporal = new SimulatedTemporal({
      time: this.time,
      workflows,
      stepsOfARun: () => 3 + this.decisions.choose(12),
      perform: ({ name }, task, beat) => {
        const worker = this.#workers.get(name);
        if (!worker) throw new Error(`There is no ${name}`);
        return worker.perform(task, beat, () => this.#step(`${task.name} of ${task.workflowId} ends`));
      },
      settle: realTick,
      isGivenTwice: () => {
        const twice = this.#has('twice', 3);
        this.doubled ||= twice;
        return twice;
      },
      onFailedRun: (id, error) => {
        this.#fault ??= new BrokenInvariant('no run fails', `${id}: ${String(error)}`);
      },
    });
  }

  get turbulent(): boolean {
    return this.#turbulent;
  }

  /** Calls an outside service. The arrival of the call and its answer are two steps of the schedule. */
  async outside<T>(label: string, arrive: () => T): Promise<T> {
    await this.#step(`${label} is sent`);
    try {
      return arrive();
    } catch (error) {
      // The calling step may treat the error as a fault of the outside service, and continue.
      if (error instanceof BrokenInvariant) this.#fault ??= error;
      throw error;
    } finally {
      await this.#step(`${label} is answered`);
    }
  }

  /** Terminates the runs of a club, except its erasure. @returns their ids */
  terminateRuns(clubId: string): Promise<string[]> {
    const except = workflowIdOf('clubErasure', clubId);
    return this.outside('the termination of runs', () => this.#temporal.terminateRuns(clubId, except));
  }

  /** @returns the ids of the runs of a club */
  runsOf(clubId: string): string[] {
    return this.#temporal.runsOf(clubId);
  }

  /** @throws BrokenInvariant */
  async play(stage: Stage, commands: number): Promise<Outcome> {
    this.#stage = stage;
    await this.postgres.setClock(this.time.now);
    for (const kind of faultKinds) {
      const oneIn = kind === 'lose' || kind === 'forget' ? 5 : 3;
      const choice = this.decisions.choose(oneIn);
      if (choice === oneIn - 1) this.#faults.add(kind);
      else if (choice === 1 && kind in insteadOf) this.#faults.add(insteadOf[kind as keyof typeof insteadOf]);
    }
    for (const name of workerNames) this.#startWorker(name);
    let commandsLeft = this.decisions.choose(commands + 1);
    let after = this.decisions.choose(8 * commands + 1);
    for (;;) {
      await this.#settle();
      mustHold(this.steps < maxSteps, 'each schedule ends', () => `after ${maxSteps} steps work still goes on`);
      await this.#maybeFault();
      if (this.#open()) continue;
      const actions = this.#actions();
      if (commandsLeft > 0 && actions.length === 0 && this.#pauses() && (await this.#rest(stage))) continue;
      if (commandsLeft > 0 && this.#isTimeForCommand(actions)) {
        actions.push({
          label: 'command',
          run: () => {
            commandsLeft--;
            this.#command(stage.command(this.decisions));
          },
        });
      }
      if (actions.length > 0) {
        if (this.#turbulent && commandsLeft === 0 && after-- <= 0) this.#calm(stage);
        const others = this.#withoutLingering(actions);
        const action = others[this.decisions.choose(others.length)];
        if (!action) throw new Error('The schedule has no action');
        if (action.label !== '') this.#say(action.label);
        this.steps++;
        await action.run();
        continue;
      }
      if (this.#turbulent && commandsLeft === 0) {
        this.#calm(stage); // a process that paused can continue now
        continue;
      }
      if (!(await this.#rest(stage))) break;
    }
    await this.#expectNothingLeft(stage);
    await stage.atEnd();
    return { steps: this.steps, trace: this.trace };
  }

  async end(): Promise<void> {
    const all = [...this.#workers.values()].map(({ process }) => process).concat([...this.#requests], this.#world);
    for (const process of all) {
      process.alive = false;
      await this.postgres.drop(process);
    }
    await this.postgres.quiet();
  }

  #toOpen: Stage | undefined;
  #calmedAt = Infinity;
  #sweptAt = 0;

  #calm(stage: Stage): void {
    if (!this.#turbulent) return;
    this.#turbulent = false;
    this.#calmedAt = this.time.now;
    this.#say('— calm —');
    for (const { process } of this.#workers.values()) Object.assign(process, { skewMs: 0, standsUntil: this.time.now });
    this.#toOpen = stage;
  }

  /**
   * Runs the commands of `calm` after all earlier requests have ended. Otherwise an earlier request, such as to pause, could still undo the
   * commands.
   */
  #open(): boolean {
    if (!this.#toOpen || this.#requests.size > 0) return false;
    for (const command of this.#toOpen.calm()) this.#command(command);
    this.#toOpen = undefined;
    return true;
  }

  /** Whether time passes before the next command, while no process has work. */
  #pauses(): boolean {
    return this.isPaced ? this.decisions.choose(3) > 0 : this.#has('pauses', 3);
  }

  /**
   * In a paced schedule a command runs when the other processes have done their work, so that the command meets
   * the effects of earlier commands.
   */
  #isTimeForCommand(actions: readonly ActionOf[]): boolean {
    if (!this.isPaced || actions.length === 0) return true;
    return this.#areOfWhoLingers(actions) ? this.decisions.choose(2) === 1 : this.decisions.happens(pacedSteps);
  }

  #isLingering(process: SimulatedProcess): boolean {
    return this.#lingers?.process === process && this.#lingers.untilStep > this.steps;
  }

  #areOfWhoLingers(actions: readonly ActionOf[]): boolean {
    return actions.every(({ process }) => process !== undefined && this.#isLingering(process));
  }

  /** Only for moments when no process has work. @returns whether time has passed; false at the end */
  async #rest(stage: Stage): Promise<boolean> {
    if (this.#parked.length > 0) return this.#waitForLocks();
    if (!this.lossy) await this.#expectSomebodyLooks(stage);
    await stage.atRest?.();
    if (
      !this.#turbulent &&
      this.lossy &&
      this.time.now - this.#sweptAt > sweepEveryMs(this.time.now - this.#calmedAt)
    ) {
      this.#sweptAt = this.time.now;
      if (await hasOverdue(this.postgres, stage.types, this.time.now)) {
        const rescued = await rescueOverdue(this.db, new Date(this.time.now));
        this.#say(`the sweeper wakes ${rescued}`);
        return true;
      }
    }
    const backlog = await backlogAt(this.postgres);
    if (backlog !== undefined && backlog <= this.time.now) {
      const at = this.#nextAt({ withPolls: true });
      if (at === undefined)
        throw new BrokenInvariant('nothing is left', 'facts or wakes wait, but no relay reads them');
      await this.#moveTo(at, true);
      return true;
    }
    const next = this.#nextAt({ withPolls: false });
    const sweptAt =
      !this.#turbulent && this.lossy ? this.time.now + sweepEveryMs(this.time.now - this.#calmedAt) + 1 : undefined;
    const at = Math.min(next ?? Infinity, backlog ?? Infinity, sweptAt ?? Infinity);
    if (!this.#turbulent && at > this.#calmedAt + stage.horizonMs) return false;
    if (at === Infinity) return false;
    await this.#moveTo(at, false);
    return true;
  }

  /** Waits for locks. Only a paused process can hold these locks, because no other process has work. */
  async #waitForLocks(): Promise<boolean> {
    await this.#lookAtParked(); // if a connection was released inside a transaction, the transaction is rolled back
    if (this.#freed.length > 0) return true;
    const stands = [...this.#workers.values()].some(({ process }) => process.standsUntil > this.time.now);
    const waiting = () => this.#parked.map(({ process, label }) => `${process.name}: ${label}`).join('; ');
    mustHold(stands, 'locks are released', waiting);
    const next = this.#nextAt({ withPolls: true }) ?? Infinity;
    await this.#moveTo(Math.min(next, ...this.#parked.map(({ parkedAt = 0 }) => parkedAt + lockTimeoutMs)), true);
    return true;
  }

  /** @returns the time at which a timer is due or a paused process continues */
  #nextAt(polls: { withPolls: boolean }): number | undefined {
    const stands = [...this.#workers.values()].map(({ process }) => process.standsUntil);
    const at = Math.min(this.time.next(polls) ?? Infinity, ...stands.filter((until) => until > this.time.now));
    return at === Infinity ? undefined : at;
  }

  async #moveTo(at: number, withPolls: boolean): Promise<void> {
    this.#say(`+${((at - this.time.now) / 1_000).toFixed(3)} s`);
    this.time.moveTo(at, { withPolls });
    await this.postgres.setClock(at);
    for (const { statement, parkedAt = at } of this.#parked)
      if (at - parkedAt >= lockTimeoutMs) await statement?.timeOut();
    this.#locksMoved = true;
  }

  async #expectSomebodyLooks(stage: Stage): Promise<void> {
    // A committed fact may have no run yet, because a relay has not handled the fact.
    if (this.#delayed.some(({ isDouble }) => !isDouble) || (await hasFacts(this.postgres))) return;
    await expectSomebodyLooks(this.postgres, {
      types: stage.types,
      now: this.time.now,
      looksAt: (id) => this.#temporal.looksAt(id),
      slackMs: slackMs + this.#skew() + this.#leaseWait(stage),
    });
  }

  /**
   * The extra time for a step if another step has leased the row. The step tries again when that lease ends, because recording a result
   * wakes no run (ENG-2).
   */
  #leaseWait({ leaseMs = usualLeaseMs }: Stage): number {
    return this.doubled || this.slow || this.cuts > 0 ? leaseMs : 0;
  }

  #skew(): number {
    return this.#faults.has('skew') ? maxSkewMs : 0;
  }

  async #expectNothingLeft(stage: Stage): Promise<void> {
    const unhandled = await this.postgres.ask<{ of: string }>(
      `SELECT 'fact ' || type AS of FROM facts UNION ALL SELECT 'wake of ' || workflow_id FROM wakes`,
    );
    mustHold(unhandled.length === 0, 'facts and wakes are carried', () => unhandled.map(({ of }) => of).join(', '));
    mustHold(this.postgres.deadlocks.length === 0, 'no deadlock happens', () => this.postgres.deadlocks.join('; '));
    this.lossy = false;
    await this.#expectSomebodyLooks(stage);
  }

  async #settle(): Promise<void> {
    await realTick();
    await this.postgres.quiet();
    await realTick();
    if (this.#parked.length > 0 && this.#locksMoved) await this.#lookAtParked();
    if (this.#fault !== undefined) throw this.#fault;
    const { misordered } = this.postgres;
    mustHold(misordered.length === 0, 'locks are taken in the documented order', () => misordered.join('; '));
  }

  /** Whether a lock may have been released since the last check. */
  #locksMoved = false;

  async #lookAtParked(): Promise<void> {
    this.#locksMoved = false;
    const freed = await this.postgres.freed(this.#parked.flatMap(({ statement }) => statement ?? []));
    for (const gate of this.#parked.splice(0)) {
      if (gate.statement && freed.includes(gate.statement)) this.#freed.push(gate);
      else if (gate.process.alive) this.#parked.push(gate);
    }
  }

  /** Replaces ids by numbers in the order of their first use, so that equal schedules have equal traces. */
  #say(line: string): void {
    const numbered = line.replaceAll(uuids, (id) => {
      const number = this.#names.get(id) ?? this.#names.size + 1;
      this.#names.set(id, number);
      return `#${number}`;
    });
    this.trace.push(numbered);
  }

  #canRun(process: SimulatedProcess): boolean {
    return process.alive && process.standsUntil <= this.time.now;
  }

  #enter(gate: Gate): void {
    if (gate.process.alive) this.#gates.push(gate);
  }

  /** Waits until the schedule lets this process continue. */
  #step(label: string): Promise<void> {
    const process = runningNow()?.process;
    if (!process) return Promise.resolve();
    return new Promise((resolve) => this.#enter({ process, label, pass: resolve }));
  }

  #withoutLingering(actions: readonly ActionOf[]): readonly ActionOf[] {
    const others = actions.filter(({ process }) => process === undefined || !this.#isLingering(process));
    return others.length > 0 ? others : actions;
  }

  #actions(): ActionOf[] {
    const actions: ActionOf[] = [];
    for (const gate of this.#gates) {
      if (!this.#canRun(gate.process)) continue;
      actions.push({
        label: `${gate.process.name}: ${gate.label}`,
        process: gate.process,
        run: () => this.#pass(gate),
      });
    }
    for (const gate of this.#freed) {
      if (!this.#canRun(gate.process)) continue;
      actions.push({
        label: `${gate.process.name}: has its lock`,
        process: gate.process,
        run: () => {
          this.#freed.splice(this.#freed.indexOf(gate), 1);
          this.#locksMoved ||= gate.statement?.keepsLocks === false;
          if (gate.statement) this.#deliver(gate.statement);
        },
      });
    }
    const workers = [...this.#workers.values()]
      .filter(
        ({ process, leaves }) => !leaves && this.#canRun(process) && !(this.isPaced && this.#isLingering(process)),
      )
      .map(({ process }) => process);
    actions.push(...this.#temporal.actions(workers, (below) => this.decisions.choose(below)));
    for (const signal of this.#delayed) {
      if (signal.from > this.time.now) continue;
      const { run } = signal;
      actions.push({
        label: `late signal to ${workflowIdOf(run.workflowType, run.subjectId)}`,
        run: () => {
          this.#delayed.splice(this.#delayed.indexOf(signal), 1);
          this.#temporal.signalWithStart(run);
        },
      });
    }
    for (const timer of this.time.due()) actions.push({ label: '', run: () => this.time.fire(timer) });
    return actions;
  }

  async #pass(gate: Gate): Promise<void> {
    this.#gates.splice(this.#gates.indexOf(gate), 1);
    const { statement } = gate;
    if (!statement) return gate.pass();
    if (this.#has('cut', 30)) {
      const isSent = this.decisions.choose(2) === 1 && (await statement.send());
      this.#say(`  the connection breaks, ${isSent ? 'after' : 'before'} it`);
      this.cuts++;
      this.#locksMoved = true;
      return statement.cut(isSent);
    }
    if (await statement.send()) {
      this.#locksMoved ||= !statement.keepsLocks;
      this.#deliver(statement);
    } else {
      this.#say('  waits for a lock');
      gate.parkedAt = this.time.now;
      this.#parked.push(gate);
    }
  }

  #deliver(statement: Statement): void {
    this.#stage?.onStatement?.(statement);
    statement.deliver();
  }

  #has(kind: FaultKind, oneIn: number): boolean {
    return this.#turbulent && this.#faults.has(kind) && this.decisions.happens(oneIn);
  }

  async #maybeFault(): Promise<void> {
    if (!this.#turbulent) return;
    if (this.#has('crash', 40)) await this.#crash();
    if (this.#has('stand', 60)) this.#standStill();
    if (this.#has('linger', this.isPaced ? 12 : 25)) this.#linger();
    if (this.#has('skew', 60)) this.#skewClock();
    if (this.#has('hurry', 40)) await this.#hurry();
    if (this.#has('forget', 60)) this.#forget();
    if (this.#has('deploy', 60)) this.#deploy();
    if (this.#has('outage', 80)) await this.#outage();
    if (this.#has('lapse', 60)) await this.#lapse();
    if (this.#has('sweep', 80)) {
      this.#say('sweep begins');
      this.#temporal.startScheduled('sweep');
    }
  }

  async #crash(): Promise<void> {
    const candidates = [...this.#requests, ...[...this.#workers.values()].map(({ process }) => process)].filter(
      ({ alive }) => alive,
    );
    if (candidates.length === 0) return;
    const process = this.decisions.pick(candidates.toReversed());
    this.#say(`${process.name} is killed`);
    this.cuts++;
    await this.#kill(process);
  }

  async #kill(process: SimulatedProcess): Promise<void> {
    process.alive = false;
    for (const gates of [this.#gates, this.#freed, this.#parked]) {
      const remaining = gates.filter((gate) => gate.process !== process);
      gates.splice(0, gates.length, ...remaining);
    }
    await this.postgres.drop(process);
    this.#locksMoved = true;
    this.#requests.delete(process);
    if (!this.#workers.delete(process.name)) return;
    this.#temporal.died(process);
    this.time.after(restartMs, { process: this.#world }, () => {
      this.#say(`${process.name} is started`);
      this.#startWorker(process.name);
    });
  }

  /** Lets a worker finish its tasks, and then replaces it (ENG-10). */
  #deploy(): void {
    const workers = [...this.#workers.values()].filter(({ leaves }) => !leaves);
    if (workers.length === 0) return;
    const worker = this.decisions.pick(workers);
    this.#say(`${worker.process.name} is redeployed`);
    worker.leaves = true;
    void runAs({ process: worker.process }, () => worker.relay?.stop());
    void this.#replaceOnceDone(worker);
  }

  async #replaceOnceDone(worker: SimulatedWorker): Promise<void> {
    await runAs({ process: worker.process }, async () => {
      await worker.relay?.stop();
      await worker.lane?.stop();
      while (worker.tasks > 0) await new Promise((resolve) => void setTimeout(resolve, 100));
    });
    this.#say(`${worker.process.name} has finished its tasks`);
    await this.#kill(worker.process);
  }

  /** Restarts Postgres: every connection breaks, and every open transaction is rolled back. */
  async #outage(): Promise<void> {
    this.#say('Postgres restarts');
    this.cuts++;
    const processes = [...this.#requests, ...[...this.#workers.values()].map(({ process }) => process)];
    for (const gates of [this.#gates, this.#parked]) {
      for (const gate of gates.filter(({ statement }) => statement !== undefined)) {
        gates.splice(gates.indexOf(gate), 1);
        await gate.statement?.cut(false);
      }
    }
    for (const process of processes) await this.postgres.drop(process);
    this.#locksMoved = true;
  }

  /**
   * Lets all leases expire while the processes still work. A failover of Postgres to a machine with a fast clock has this effect. In a
   * paced schedule the activities also time out in Temporal, so that other workers begin the same work.
   */
  async #lapse(): Promise<void> {
    this.#say('all leases of rows run out');
    if (this.isPaced) this.#temporal.timeOutAll();
    this.slow = true;
    this.lapsed = true;
    for (const type of this.#stage?.types ?? []) {
      const { tableName, columns } = this.postgres.source.getMetadata(workflowTypes[type].entity);
      if (!columns.some(({ databaseName }) => databaseName === 'lease_until')) continue;
      // The lease of a locked row does not change.
      await this.postgres.ask(
        `UPDATE ${tableName} SET lease_until = simulation.clock_timestamp() - interval '1 ms'
          WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${tableName} WHERE lease_until IS NOT NULL FOR UPDATE SKIP LOCKED))`,
      );
    }
  }

  #standStill(): void {
    if (this.#workers.size === 0) return;
    const { process } = this.decisions.pick([...this.#workers.values()]) ?? {};
    if (!process) return;
    const forMs = this.decisions.pick([5_000, 20_000, 40_000, 100_000, 400_000]);
    // After a longer time Postgres would end an idle transaction and release its locks.
    const pauseMs = this.postgres.isInTransaction(process) ? Math.min(forMs, idleInTransactionMs) : forMs;
    this.#say(`${process.name} pauses for ${pauseMs / 1_000} s`);
    process.standsUntil = this.time.now + pauseMs;
    this.slow = true;
  }

  /** Lets other processes continue while a process is between two statements. No time passes, so no lease expires. */
  #linger(): void {
    const gates = this.#gates.filter((gate) => this.#canRun(gate.process) && (!this.isPaced || this.#isDelicate(gate)));
    const busy = [...new Set(gates.map(({ process }) => process))];
    if (busy.length === 0) return;
    const process = this.decisions.pick(busy);
    const steps = this.decisions.pick(this.isPaced ? lingeredStepsPaced : lingeredSteps);
    this.#say(`${process.name} lingers for ${steps} steps`);
    this.#lingers = { process, untilStep: this.steps + steps };
  }

  #isDelicate({ process, statement }: Gate): boolean {
    return !statement || statement.text.startsWith('DELETE FROM wakes') || this.postgres.isInTransaction(process);
  }

  #skewClock(): void {
    if (this.#workers.size === 0) return;
    const { process } = this.decisions.pick([...this.#workers.values()]) ?? {};
    if (!process) return;
    process.skewMs = this.decisions.pick([0, 30_000, -30_000, maxSkewMs, -maxSkewMs]);
    this.#say(`the clock of ${process.name} is off by ${process.skewMs / 1_000} s`);
    this.slow = true;
  }

  /** Lets time pass while there is work, as if every process were slow. */
  async #hurry(): Promise<void> {
    const next = this.#nextAt({ withPolls: true });
    if (next === undefined) return;
    this.slow = true;
    await this.#moveTo(next, true);
  }

  #forget(): void {
    const ids = [...this.#temporal.runs.keys()];
    if (ids.length === 0) return;
    const id = this.decisions.pick(ids);
    this.#say(`Temporal forgets ${id}`);
    this.lossy = true;
    this.#temporal.forget(id);
  }

  #command({ label, run }: Command): void {
    const process: SimulatedProcess = { name: `api ${++this.#requestCount}`, alive: true, standsUntil: 0, skewMs: 0 };
    this.#say(`${process.name} is asked: ${label}`);
    this.#requests.add(process);
    const end = () => void this.#requests.delete(process);
    runAs({ process }, () => {
      Promise.resolve(run()).then(end, (error: unknown) => {
        end();
        if (isExpected(error)) this.#say(`${process.name} refuses: ${String(error).slice(0, 100)}`);
        else this.#fault ??= error;
      });
    });
  }

  #startWorker(name: string): void {
    const stage = this.#stage;
    if (!stage) throw new Error('No stage');
    const process: SimulatedProcess = { name, alive: true, standsUntil: 0, skewMs: 0 };
    const { source } = this.postgres;
    const worker = makeWorker(process, { stage, source, notify: () => this.#notify() });
    this.#workers.set(name, worker);
    worker.startRelay(this.#client(process));
  }

  #client(process: SimulatedProcess): WorkflowClient {
    return simulatedClient({
      process,
      temporal: this.#temporal,
      step: (label) => this.#step(label),
      say: (line) => this.#say(line),
      has: (fault, oneIn) => this.#has(fault, oneIn),
      arrives: () => this.decisions.choose(2) === 1,
      onLost: () => {
        this.lossy = true;
      },
      signalLater: (run, isDouble) => this.#signalLater(run, isDouble),
    });
  }

  #signalLater(run: Run, isDouble: boolean): void {
    const delayMs = this.isPaced ? this.decisions.pick(signalDelaysMs) : 0;
    this.#delayed.push({ run, from: this.time.now + delayMs, isDouble });
    if (delayMs > 0) this.time.after(delayMs, { process: this.#world }, () => {}); // a timer, so that the clock stops at this time
  }

  #notify(): void {
    for (const { process, notify } of this.#workers.values()) {
      if (this.#has('unnotified', 4)) continue;
      this.time.after(0, { process }, notify);
    }
  }
}

const maxSkewMs = 300_000;
/** At first the sweeper runs often, in order to find lost work. Later the sweeper runs rarely, and finds only work that becomes due. */
const sweepEveryMs = (sinceCalmMs: number) => (sinceCalmMs < 1_800_000 ? 150_000 : 6 * 3_600_000);

function shortened(text: string): string {
  const words = text.replaceAll(/\s+/g, ' ').trim();
  const cte = /^WITH .*?\b((?:UPDATE|INSERT INTO|DELETE FROM) \S+)/i.exec(words)?.[1];
  return (cte ? `WITH … ${cte}` : words).slice(0, 110);
}

const passing: ReadonlySet<string> = new Set(['ECONNRESET', '40P01', '55P03']);

/** Returns whether a caller of the API can get this error: a refusal of the domain, a lost connection or a conflict. */
function isExpected(error: unknown): boolean {
  const { name, code, driverError } = error as { name?: string; code?: string; driverError?: { code?: string } };
  return name === 'DomainError' || [code, driverError?.code].some((one) => passing.has(one ?? ''));
}
