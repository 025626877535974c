/**
 * The webhook engine with a real Postgres, for one event at a time. The real steps run in the real workflow loop, with the simulated
 * Temporal and the simulated clock of test/proofs/simulation. The test itself delivers wakes, and can lose some. A receiver answers when
 * the test lets it answer.
 */
import { createSuccessWriter } from '../../../domain/webhooks/attempts/record-success.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { VaultDeps } from '../../../domain/deps.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { recordFact, type FactToTell } from '../../../platform/engine/facts.ts';
import { rescueOverdue } from '../../../platform/engine/sweeper.ts';
import { workflowIdOf, type Run, type WorkflowType } from '../../../platform/engine/workflow-types.ts';
import type { SimulatedProcess, VirtualTime } from '../../proofs/simulation/simulated-process.ts';
import { simulatedWorkflows } from '../../proofs/simulation/temporal/module-hooks.ts';
import { SimulatedTemporal, type ActivityTask } from '../../proofs/simulation/temporal/server.ts';
import { fakePermits } from '../fakes/attempt-permits.ts';
import { attemptDelivery, type DeliveryDeps } from '../../../domain/webhooks/attempts/attempt.ts';
import { fanOut } from '../../../domain/webhooks/events/fan-out.ts';
import { tendGate } from '../../../domain/webhooks/queues/gate.ts';
import type { AttemptAnswer } from '../../../domain/webhooks/attempts/post.ts';
import { WebhookModel, type Kind, type ModelAttempt, type Reply } from './webhook-model.ts';

const second = 1_000;
const leaseMs = 25 * second;
const timeLimitMs = 15 * second;
/** The shortest wait of a workflow between two steps (workflows/step-workflow.ts). */
const shortestWaitMs = second;
/** After this many steps a run continues as new. */
const stepsOfARun = 20;
/** The maximum number of rounds before the engine counts as stuck. No sequence of a test needs so many rounds. */
const maxRounds = 3_000;

interface Posted {
  id: Id;
  /** In Unix milliseconds. */
  now: number;
  message: Message;
  ended: Promise<{ step: Step } | { error: unknown }>;
  answer: (step: Step) => void;
}

const answers: Record<Reply['says'], Omit<AttemptAnswer, 'durationMs'>> = {
  ok: { outcome: 'succeeded', responseStatus: 200 },
  fail: { outcome: 'http_error', responseStatus: 500 },
  retry: { outcome: 'http_error', responseStatus: 503 },
};

interface Flight {
  deliveryId: Id;
  attempt: ModelAttempt;
  /** The attempt's lease has expired, so another worker may have started the attempt again. */
  stalled: boolean;
  reply(reply: Reply): Promise<void>;
  /** The worker dies before the answer, and the lease of the attempt expires. */
  die(): Promise<void>;
  /** The lease expires although the worker is alive, and the activity runs again in another worker. */
  stall(): Promise<void>;
}

type Step = Awaited<ReturnType<typeof attemptDelivery>>;
type Message = Parameters<DeliveryDeps['post']>[0];

const worker: SimulatedProcess = { name: 'worker', alive: true, standsUntil: 0, skewMs: 0 };
/** Lets all code run that waits for settled promises. */
const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

export class WebhookEngine {
  readonly model = new WebhookModel();
  readonly flights: Flight[] = [];
  /** The response of all receivers from now on. If it is undefined, the receivers do not answer yet. */
  mood: Reply | undefined = { says: 'ok' };
  /** Makes the engine lose the next wakes. */
  losing = false;
  /** Makes the engine leave facts and wakes in the queue. */
  relayAway = false;
  /** Whether a wake was lost. If no wake was lost, the sweeper has nothing to do. */
  lossy = false;
  readonly clubId: Id;

  private readonly db: Database;
  private readonly deps: VaultDeps;
  private readonly time: VirtualTime;
  private readonly temporal: SimulatedTemporal;
  /** Steps that have not ended and have not sent a request. */
  private readonly underWay: Promise<unknown>[] = [];

  private constructor(
    deps: VaultDeps,
    clubId: Id,
    time: VirtualTime,
    workflows: Awaited<ReturnType<typeof simulatedWorkflows>>,
  ) {
    this.deps = deps;
    this.db = deps.db;
    this.clubId = clubId;
    this.time = time;
    this.temporal = new SimulatedTemporal({
      time,
      workflows,
      stepsOfARun: () => stepsOfARun,
      isGivenTwice: () => false,
      settle: turn,
      perform: (_, task) => this.perform(task),
      onFailedRun: (id, error) => this.underWay.push(Promise.reject(new Error(`${id} failed`, { cause: error }))),
    });
  }

  /** @param time the simulated time, which already replaces the clock of the process and has not moved yet */
  static async open(deps: VaultDeps, clubId: Id, time: VirtualTime): Promise<WebhookEngine> {
    return new WebhookEngine(deps, clubId, time, await simulatedWorkflows());
  }

  get now(): number {
    return this.time.now;
  }

  /** @returns the time of the next step of the run, in Unix milliseconds; 0 while the run works; undefined if there is no run */
  looksAt(type: WorkflowType, id: Id): number | undefined {
    return this.temporal.looksAt(workflowIdOf(type, id));
  }

  async commitFact(studentId: Id, type: EventType): Promise<void> {
    await this.db.transaction((tx) =>
      recordFact(tx, { clubId: this.clubId, type, studentId, occurredAt: new Date(this.now) }),
    );
  }

  async settle(): Promise<void> {
    for (let round = 1; ; round++) {
      if (!this.relayAway) await this.relay();
      for (const timer of this.time.due()) this.time.fire(timer);
      if (!(await this.act())) return;
      if (round > maxRounds) throw new Error('The runs take steps again and again without an end');
    }
  }

  private async act(): Promise<boolean> {
    const actions = this.temporal.actions([worker], () => 0);
    for (const action of actions) {
      await action.run();
      await this.untilPosted();
    }
    return actions.length > 0;
  }

  /** Waits until every begun step has ended, or has posted and waits for an answer. */
  private async untilPosted(): Promise<void> {
    await turn();
    while (this.underWay.length > 0) await Promise.all(this.underWay.splice(0));
    await turn();
  }

  /** @param smoothly whether every run acts at its planned time. Otherwise all runs act late, as after an outage */
  async pass(ms: number, smoothly: boolean): Promise<void> {
    const until = this.now + ms;
    this.relayAway = false;
    while (smoothly) {
      const next = this.time.next({ withPolls: true }) ?? Infinity;
      await this.timeOut(Math.min(next, until));
      if (next > until) break;
      this.time.moveTo(next, { withPolls: true });
      await this.settle();
    }
    if (!smoothly) await this.timeOut(until);
    this.time.moveTo(until, { withPolls: true });
    await this.settle();
    // A step may return a time in the past. Its workflow then still waits for the shortest delay.
    if (!smoothly) await this.pass(shortestWaitMs, true);
  }

  private async timeOut(by: number): Promise<void> {
    for (const flight of this.flights.slice()) {
      if (flight.attempt.startedAt + timeLimitMs <= by) await flight.reply({ says: 'fail' });
    }
  }

  /** Drops a third of the workflows, as after a restored backup. */
  forget(third: number): void {
    [...this.temporal.runs]
      .filter(([, { activities }], index) => activities.size === 0 && index % 3 === third)
      .forEach(([id]) => this.temporal.forget(id));
    this.lossy = true;
  }

  /** @returns the number of deliveries that the sweeper rescued, because no workflow watched them */
  sweep(): Promise<number> {
    return rescueOverdue(this.db, new Date(this.now));
  }

  /** Runs a second step of a delivery beside its workflow, as a repeated activity does. */
  async stepBeside(deliveryId: Id): Promise<void> {
    const looksAt = this.looksAt('webhookDelivery', deliveryId);
    if (looksAt !== undefined && looksAt > 0) {
      this.start('webhookDelivery', deliveryId);
      await this.act(); // the task that requests a step
    }
    for (const action of this.temporal.actions([worker], () => 0)) await action.run();
    await this.attempt(deliveryId, this.now, () => {});
    await this.untilPosted();
  }

  private async relay(): Promise<void> {
    const [facts] = await this.db.source.query<[FactToTell[], number]>(
      `DELETE FROM facts RETURNING id, club_id AS "clubId", type, student_id AS "studentId",
                 subject_id AS "subjectId", details, occurred_at AS "occurredAt"`,
    );
    for (const fact of facts) await this.tell(fact);
    const [wakes] = await this.db.source.query<[{ type: WorkflowType; id: Id }[], number]>(
      `DELETE FROM wakes RETURNING workflow_type AS type, subject_id AS id`,
    );
    if (this.losing && wakes.length > 0) {
      this.losing = false;
      this.lossy = true;
      return;
    }
    for (const { type, id } of wakes) this.start(type, id);
  }

  private async tell(fact: FactToTell): Promise<void> {
    const createdDeliveries = await fanOut(this.db, fact, new Date(this.now));
    const rows = await this.db.source.query<{ id: Id; endpointId: Id }[]>(
      `SELECT id, endpoint_id AS "endpointId" FROM webhook_deliveries WHERE event_id = $1`,
      [fact.id],
    );
    for (const { id, endpointId } of rows) this.model.created(id, endpointId, fact, this.now);
    const enabledEndpoints = [...this.model.endpoints.values()].filter(({ status }) => status !== 'disabled').length;
    if (rows.length !== enabledEndpoints)
      throw new Error(`A fact became ${rows.length} deliveries, not ${enabledEndpoints}.`);
    for (const { id } of createdDeliveries) this.start('webhookDelivery', id);
  }

  /** Signals the workflow run to make a step, or starts a run. */
  start(type: WorkflowType, id: Id): void {
    const run: Run = { workflowType: type, subjectId: id, clubId: this.clubId, attributes: {} };
    this.temporal.signalWithStart(run);
  }

  private perform({ name, args }: ActivityTask): Promise<unknown> {
    const [id, requestedAt] = args as [Id, number];
    const now = Math.max(requestedAt, this.now); // as in activities/step.ts: a step may be repeated hours later
    const performed = Promise.withResolvers<unknown>();
    const step =
      name === 'tendGate'
        ? tendGate(this.deps, id, now).then(performed.resolve)
        : this.attempt(id, now, (answered) => performed.resolve(answered));
    this.underWay.push(step);
    return performed.promise;
  }

  /**
   * Runs a step of a delivery. Resolves when the step has ended, or has posted a request and waits for its answer.
   * @param answer a function that gets the result of the step. It is not called if the worker dies
   */
  private async attempt(id: Id, now: number, answer: (step: Step) => void): Promise<void> {
    const posted = Promise.withResolvers<{ message: Message; answer: PromiseWithResolvers<AttemptAnswer> }>();
    let gaveUp = false;
    const deps: DeliveryDeps = {
      ...this.deps,
      recordSuccess: createSuccessWriter(this.db),
      random: () => 0.5,
      permits: fakePermits,
      async failpoint() {},
      onAttempt: ({ outcome }) => {
        gaveUp = outcome === 'interrupted';
      },
      post: (message) => {
        const reply = Promise.withResolvers<AttemptAnswer>();
        posted.resolve({ message, answer: reply });
        return reply.promise;
      },
    };
    const ended = attemptDelivery(deps, id, now).then(
      (step) => ({ step: this.byOurClock(step) }),
      (error: unknown) => ({ error }),
    );
    const first = await Promise.race([ended, posted.promise]);
    if ('message' in first) {
      await this.fly({ id, now, message: first.message, ended, answer }, first.answer);
      return;
    }
    if ('error' in first) throw first.error;
    if (gaveUp) {
      await this.begin(id, now);
      this.model.gaveUp(id);
    }
    answer(first.step);
  }

  /** Leases use the clock of the database, which the simulated time of this test does not move. */
  private byOurClock(step: Step): Step {
    return !step.done && step.waitingFor === 'lease' ? { ...step, at: this.now + leaseMs } : step;
  }

  private async fly({ id, now, message, ended, answer }: Posted, reply: PromiseWithResolvers<AttemptAnswer>) {
    this.expectSecrets(id, message.secrets, now);
    const attempt = await this.begin(id, now);
    const land = async () => {
      this.flights.splice(this.flights.indexOf(flight), 1);
      return ended;
    };
    const flight: Flight = {
      deliveryId: id,
      attempt,
      stalled: false,
      reply: async (replyOfReceiver) => {
        const retryAfterSeconds =
          replyOfReceiver.says === 'retry' ? { retryAfterSeconds: replyOfReceiver.seconds } : {};
        reply.resolve({ ...answers[replyOfReceiver.says], ...retryAfterSeconds, durationMs: 1 });
        const end = await land();
        if ('error' in end) throw end.error;
        this.model.answered(id, attempt, replyOfReceiver);
        answer(end.step);
        await turn();
      },
      die: async () => {
        reply.reject(new Error('the worker died')); // Temporal gets no answer: the activity times out
        await land();
        await this.endLease(id, attempt);
      },
      stall: async () => {
        if (flight.stalled) return;
        flight.stalled = true;
        await this.endLease(id, attempt);
        this.temporal.timeOut(workflowIdOf('webhookDelivery', id));
      },
    };
    this.flights.push(flight);
    if (this.mood) await flight.reply(this.mood);
  }

  private async begin(deliveryId: Id, now: number): Promise<ModelAttempt> {
    const [row] = await this.db.source.query<{ kind: Kind }[]>(
      `SELECT trigger AS kind FROM webhook_attempts WHERE delivery_id = $1 ORDER BY fence DESC LIMIT 1`,
      [deliveryId],
    );
    if (!row) throw new Error('The attempt has no row');
    return this.model.began(deliveryId, row.kind, now);
  }

  /** Ends a lease by the clock of the database, so that the test need not wait for its end. */
  private async endLease(deliveryId: Id, attempt: ModelAttempt): Promise<void> {
    if (this.model.delivery(deliveryId).attempt !== attempt) return; // another worker has begun the attempt again
    attempt.cutOff = true;
    await this.db.source.query(
      `UPDATE webhook_deliveries SET lease_until = clock_timestamp() - interval '1 ms' WHERE id = $1`,
      [deliveryId],
    );
  }

  private expectSecrets(deliveryId: Id, secrets: readonly string[], now: number): void {
    const endpoint = this.model.endpoint(this.model.delivery(deliveryId).endpointId);
    const valid = endpoint.secrets.slice(0, now < endpoint.previousUntil ? 2 : 1);
    if (secrets.join() !== valid.join()) throw new Error(`Signed with ${secrets.length} secrets, not ${valid.length}.`);
  }
}
