/**
 * The engine's domain on a real Postgres, without Temporal: workflows are rows of a map that say when they look again, wakes
 * are carried by hand and can be lost or doubled, receivers answer when they are told to, and time passes when it is told to.
 */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { VaultDeps } from '../../../domain/deps.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { recordFact, type FactToTell } from '../../../platform/engine/facts.ts';
import { rescueOverdue } from '../../../platform/engine/sweeper.ts';
import { workflowIdOf, type WorkflowType } from '../../../platform/engine/workflow-types.ts';
import { fakePlaces } from '../fakes/attempt-places.ts';
import { attemptDelivery, type DeliveryDeps } from '../../../domain/webhooks/deliveries/attempts.ts';
import { fanOut } from '../../../domain/webhooks/events/fan-out.ts';
import { tendGate } from '../../../domain/webhooks/endpoints/gate.ts';
import type { AttemptAnswer } from '../../../domain/webhooks/deliveries/post.ts';
import { WebhookModel, type Kind, type ModelAttempt, type Reply } from './webhook-model.ts';

const second = 1_000;
const leaseMs = 25 * second;
const timeLimitMs = 15 * second;
/** More rounds than any sequence needs at one moment. */
const maxRounds = 3_000;

const answers: Record<Reply['says'], Omit<AttemptAnswer, 'durationMs'>> = {
  ok: { outcome: 'succeeded', responseStatus: 200 },
  fail: { outcome: 'http_error', responseStatus: 500 },
  retry: { outcome: 'http_error', responseStatus: 503 },
};

interface Run {
  type: WorkflowType;
  id: Id;
  /** When it looks again by itself, in Unix milliseconds. */
  at: number;
  /** A step of it is under way. */
  busy: boolean;
  /** It was told to look again during the step. */
  dirty: boolean;
}

/** An attempt that was posted and not yet answered. */
interface Flight {
  deliveryId: Id;
  attempt: ModelAttempt;
  /** Its lease has run out: another worker may have begun it again. */
  stalled: boolean;
  reply(reply: Reply): Promise<void>;
  /** The worker dies before the answer; its lease runs out. */
  die(): Promise<void>;
  /** The lease runs out under a living worker, whose activity is made again elsewhere. */
  stall(): Promise<void>;
}

type Step = { done: true } | { done: false; at: number; waitingFor?: string };
type Message = Parameters<DeliveryDeps['post']>[0];

export class SimulatedEngine {
  readonly model = new WebhookModel();
  readonly runs = new Map<string, Run>();
  readonly flights: Flight[] = [];
  /** What receivers say from now on; undefined: nothing yet. */
  mood: Reply | undefined = { says: 'ok' };
  /** The next wakes are lost on their way. */
  losing = false;
  /** Facts and wakes stay where they are. */
  relayAway = false;
  /** Whether anything was lost so far: without it, the sweeper has nothing to do. */
  lossy = false;

  private readonly db: Database;
  private readonly deps: VaultDeps;
  readonly clubId: Id;
  now: number;

  constructor(deps: VaultDeps, clubId: Id, now: number) {
    this.deps = deps;
    this.db = deps.db;
    this.clubId = clubId;
    this.now = now;
  }

  async commitFact(studentId: Id, type: EventType): Promise<void> {
    await this.db.transaction((tx) =>
      recordFact(tx, { clubId: this.clubId, type, studentId, occurredAt: new Date(this.now) }),
    );
  }

  /** Until nobody has anything to do at this moment. */
  async settle(): Promise<void> {
    for (let round = 1; ; round++) {
      if (!this.relayAway) await this.relay();
      const due = [...this.runs.values()].filter(({ busy, at }) => !busy && at <= this.now);
      if (due.length === 0) return;
      if (round > maxRounds) throw new Error('Somebody looks again and again without end.');
      for (const run of due) await this.step(run);
    }
  }

  /** @param smoothly everybody looks at their time; otherwise all are late, as after an outage */
  async pass(ms: number, smoothly: boolean): Promise<void> {
    const until = this.now + ms;
    this.relayAway = false;
    while (smoothly) {
      const next = Math.min(...[...this.runs.values()].filter(({ busy }) => !busy).map(({ at }) => at));
      await this.timeOut(Math.min(next, until));
      if (next > until) break;
      this.now = Math.max(this.now, next);
      await this.settle();
    }
    if (!smoothly) await this.timeOut(until);
    this.now = until;
    await this.settle();
  }

  /** No attempt takes longer than its time limit. */
  private async timeOut(by: number): Promise<void> {
    for (const flight of this.flights.slice()) {
      if (flight.attempt.startedAt + timeLimitMs <= by) await flight.reply({ says: 'fail' });
    }
  }

  /** A third of the workflows is gone, as after a restored backup. */
  forget(third: number): void {
    [...this.runs]
      .filter(([, { busy }], index) => !busy && index % 3 === third)
      .forEach(([id]) => this.runs.delete(id));
    this.lossy = true;
  }

  /** @returns how many had nobody who looked after them */
  sweep(): Promise<number> {
    return rescueOverdue(this.db, new Date(this.now));
  }

  /** A second step of a delivery beside whatever its workflow does: a repeated activity. */
  async stepBeside(deliveryId: Id): Promise<void> {
    const own = this.runs.get(workflowIdOf('webhookDelivery', deliveryId));
    const beside: Run = { type: 'webhookDelivery', id: deliveryId, at: this.now, busy: false, dirty: false };
    await Promise.all([this.takeStep(beside), ...(own && !own.busy ? [this.takeStep(own)] : [])]);
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
    const made = await fanOut(this.db, fact, new Date(this.now));
    const rows = await this.db.source.query<{ id: Id; endpointId: Id }[]>(
      `SELECT id, endpoint_id AS "endpointId" FROM webhook_deliveries WHERE event_id = $1`,
      [fact.id],
    );
    for (const { id, endpointId } of rows) this.model.created(id, endpointId, fact, this.now);
    const told = [...this.model.endpoints.values()].filter(({ status }) => status !== 'disabled').length;
    if (rows.length !== told) throw new Error(`A fact became ${rows.length} deliveries, not ${told}.`);
    for (const { id } of made) this.start('webhookDelivery', id);
  }

  /** signalWithStart: whoever runs looks again, whoever does not begins. */
  start(type: WorkflowType, id: Id): void {
    const key = workflowIdOf(type, id);
    const run = this.runs.get(key);
    if (!run) this.runs.set(key, { type, id, at: this.now, busy: false, dirty: false });
    else if (run.busy) run.dirty = true;
    else run.at = this.now;
  }

  private async step(run: Run): Promise<void> {
    if (run.type === 'webhookDelivery') return this.takeStep(run);
    this.stepped(run, await tendGate(this.deps, run.id, this.now));
  }

  private stepped(run: Run, step: Step): void {
    const key = workflowIdOf(run.type, run.id);
    if (this.runs.get(key) !== run) return;
    if (step.done && !run.dirty) this.runs.delete(key);
    // A lease is of the database's clock, which stands still here.
    const at = step.done
      ? this.now
      : 'waitingFor' in step && step.waitingFor === 'lease'
        ? this.now + leaseMs
        : step.at;
    run.at = run.dirty || step.done ? this.now : Math.max(this.now + second, at);
    run.dirty = false;
    run.busy = false;
  }

  /** Resolves once the step has ended, or has posted and waits for an answer. */
  private async takeStep(run: Run): Promise<void> {
    run.busy = true;
    const posted = Promise.withResolvers<{ message: Message; answer: PromiseWithResolvers<AttemptAnswer> }>();
    let gaveUp = false;
    const deps: DeliveryDeps = {
      ...this.deps,
      random: () => 0.5,
      places: fakePlaces,
      async failpoint() {},
      onAttempt: ({ outcome }) => {
        gaveUp = outcome === 'interrupted';
      },
      post: (message) => {
        const answer = Promise.withResolvers<AttemptAnswer>();
        posted.resolve({ message, answer });
        return answer.promise;
      },
    };
    const ended = attemptDelivery(deps, run.id, this.now).then(
      (step) => ({ step }),
      (error: unknown) => ({ error }),
    );
    const first = await Promise.race([ended, posted.promise]);
    if ('message' in first) return this.fly(run, first.message, first.answer, ended);
    if ('error' in first) throw first.error;
    if (gaveUp) {
      await this.begin(run.id);
      this.model.gaveUp(run.id);
    }
    this.stepped(run, first.step);
  }

  private async fly(
    run: Run,
    message: Message,
    answer: PromiseWithResolvers<AttemptAnswer>,
    ended: Promise<{ step: Step } | { error: unknown }>,
  ): Promise<void> {
    this.expectSecrets(run.id, message.secrets);
    const attempt = await this.begin(run.id);
    const land = async () => {
      this.flights.splice(this.flights.indexOf(flight), 1);
      return ended;
    };
    const lookAgain = () => {
      run.busy = false;
      this.start('webhookDelivery', run.id);
    };
    const flight: Flight = {
      deliveryId: run.id,
      attempt,
      stalled: false,
      reply: async (reply) => {
        const retryAfterSeconds = reply.says === 'retry' ? { retryAfterSeconds: reply.seconds } : {};
        answer.resolve({ ...answers[reply.says], ...retryAfterSeconds, durationMs: 1 });
        const end = await land();
        if ('error' in end) throw end.error;
        this.model.answered(run.id, attempt, reply);
        if (!flight.stalled) this.stepped(run, end.step);
      },
      die: async () => {
        answer.reject(new Error('the worker died'));
        await land();
        await this.endLease(run.id, attempt);
        if (!flight.stalled) lookAgain();
      },
      stall: async () => {
        if (flight.stalled) return;
        flight.stalled = true;
        await this.endLease(run.id, attempt);
        lookAgain();
      },
    };
    this.flights.push(flight);
    if (this.mood) await flight.reply(this.mood);
  }

  private async begin(deliveryId: Id): Promise<ModelAttempt> {
    const [row] = await this.db.source.query<{ kind: Kind }[]>(
      `SELECT trigger AS kind FROM webhook_attempts WHERE delivery_id = $1 ORDER BY fence DESC LIMIT 1`,
      [deliveryId],
    );
    if (!row) throw new Error('An attempt without a row.');
    return this.model.began(deliveryId, row.kind, this.now);
  }

  /** By the database's clock, so that nobody waits for it. */
  private async endLease(deliveryId: Id, attempt: ModelAttempt): Promise<void> {
    if (this.model.delivery(deliveryId).attempt !== attempt) return; // it has been begun again: not ours any more
    attempt.cutOff = true;
    await this.db.source.query(
      `UPDATE webhook_deliveries SET lease_until = clock_timestamp() - interval '1 ms' WHERE id = $1`,
      [deliveryId],
    );
  }

  private expectSecrets(deliveryId: Id, secrets: readonly string[]): void {
    const endpoint = this.model.endpoint(this.model.delivery(deliveryId).endpointId);
    const valid = endpoint.secrets.slice(0, this.now < endpoint.previousUntil ? 2 : 1);
    if (secrets.join() !== valid.join()) throw new Error(`Signed with ${secrets.length} secrets, not ${valid.length}.`);
  }
}
