/**
 * A reference model of endpoints and deliveries, which follows only the rules STATE-1 to STATE-15 and DEL-1 to DEL-9. The model computes
 * which attempts are allowed and what they change, and throws if the engine does something else. The rules do not say which due delivery
 * comes first, so the engine tells the model which attempt begins.
 */
import type { Id } from '../../../platform/core/ids.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
export const day = 24 * hour;
const waits = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour];

export type Kind = 'schedule' | 'manual' | 'recovery' | 'test';
/** The reply of a receiver. `retry` is a 503 with this number of seconds in Retry-After. */
export type Reply = { says: 'ok' } | { says: 'fail' } | { says: 'retry'; seconds: number };

export interface ModelEndpoint {
  status: 'enabled' | 'paused' | 'disabled';
  disabledReason: 'manual' | 'failing' | null;
  deleted: boolean;
  failures: number;
  failingSince: number | null;
  enabledAt: number;
  holdUntil: number | null;
  /** Armings of the breaker since the last success. Above 0 the endpoint is throttled. */
  armings: number;
  /** The number of events before the last arming. */
  armedAt: number;
  /** The secrets of the endpoint, the newest first. The second secret is valid until `previousUntil`. */
  secrets: string[];
  previousUntil: number;
}

export interface ModelAttempt {
  kind: Kind;
  startedAt: number;
  /** The position of the beginning in the sequence of events. */
  moment: number;
  onSchedule: boolean;
  /** Whether the gate released the delivery while the endpoint was throttled. */
  admitted: boolean;
  /** Whether the worker of the attempt died or counts as dead. */
  cutOff: boolean;
  /** Whether the attempt must be repeated after an interruption. */
  wanted: boolean;
}

interface ModelDelivery {
  endpointId: Id;
  studentId: Id | null;
  createdAt: number;
  status: 'pending' | 'succeeded' | 'failed' | 'canceled';
  cancelReason: 'expired' | 'student_removed' | null;
  purged: boolean;
  /** Recorded attempts. */
  attempts: number;
  /** The recorded attempts that follow the schedule. */
  scheduled: number;
  nextAt: number;
  asked: Exclude<Kind, 'schedule'> | null;
  /** Whether a resend made the recovery begin earlier. This recovery does not count against the limit of four. */
  hurried: boolean;
  attempt: ModelAttempt | undefined;
  interruptions: number;
  completedAt: number | null;
}

/** @throws Error for behaviour that the rules do not allow */
function expectThat(allowed: boolean, what: string): void {
  if (!allowed) throw new Error(`Not allowed: ${what}`);
}

export class WebhookModel {
  readonly endpoints = new Map<Id, ModelEndpoint>();
  readonly deliveries = new Map<Id, ModelDelivery>();
  readonly removed = new Set<Id>();
  private moment = 0;

  endpoint(id: Id): ModelEndpoint {
    return found(this.endpoints, id);
  }

  delivery(id: Id): ModelDelivery {
    return found(this.deliveries, id);
  }

  of(endpointId: Id): ModelDelivery[] {
    return [...this.deliveries.values()].filter((delivery) => delivery.endpointId === endpointId);
  }

  registered(id: Id, secret: string, now: number): void {
    this.endpoints.set(id, {
      status: 'enabled',
      disabledReason: null,
      deleted: false,
      failures: 0,
      failingSince: null,
      enabledAt: now,
      holdUntil: null,
      armings: 0,
      armedAt: 0,
      secrets: [secret],
      previousUntil: 0,
    });
  }

  /**
   * Makes a delivery of a fact for every enabled endpoint that subscribes to it. For a deleted student, only the fact of the deletion is
   * sent.
   */
  created(id: Id, endpointId: Id, about: { studentId: Id | null; type: string }, now: number): void {
    expectThat(this.endpoint(endpointId).status !== 'disabled', 'a delivery for a disabled endpoint');
    const untold = about.studentId !== null && this.removed.has(about.studentId) && about.type !== 'student.removed';
    this.deliveries.set(id, {
      endpointId,
      studentId: about.studentId,
      createdAt: now,
      status: untold ? 'canceled' : 'pending',
      cancelReason: untold ? 'student_removed' : null,
      purged: untold,
      attempts: 0,
      scheduled: 0,
      nextAt: now,
      asked: about.type === 'webhook.test' ? 'test' : null,
      hurried: false,
      attempt: undefined,
      interruptions: 0,
      completedAt: untold ? now : null,
    });
  }

  /**
   * The test calls this when the engine is about to send the body. The test also calls it if the engine then does not send the body,
   * because the attempt was interrupted too often.
   */
  began(id: Id, kind: Kind, now: number): ModelAttempt {
    const delivery = this.delivery(id);
    const endpoint = this.endpoint(delivery.endpointId);
    const before = delivery.attempt;
    expectThat(endpoint.status === 'enabled' && !endpoint.deleted, `an attempt at a ${endpoint.status} endpoint`);
    expectThat(!delivery.purged, 'a body that was purged is sent');
    expectThat(now < delivery.createdAt + 30 * day, 'an attempt after 30 days');
    expectThat(before === undefined || before.cutOff, 'two attempts of one delivery in flight');
    const again = before?.wanted && before.kind === kind;
    const pending = delivery.status === 'pending';
    if (!again && kind === 'schedule') {
      expectThat(pending && delivery.nextAt <= now, 'an attempt that is neither requested nor due');
      expectThat(delivery.scheduled < 8, 'a ninth attempt on the schedule');
    } else if (!again) {
      expectThat(delivery.asked === kind, `an attempt (${kind}) without a request`);
      delivery.asked = null;
    }
    const admitted = endpoint.armings > 0 && kind === 'schedule';
    if (admitted) {
      expectThat((endpoint.holdUntil ?? 0) <= now, 'a scheduled attempt during the wait of the breaker');
      expectThat(!this.underway(delivery.endpointId, (one) => one.admitted), 'two admitted attempts while throttled');
    }
    if (kind === 'recovery' && !delivery.hurried) {
      const others = this.of(delivery.endpointId).filter(
        ({ hurried, attempt }) =>
          // A recovery that was canceled during its attempt does not count.
          !hurried && attempt?.kind === 'recovery' && attempt.wanted && !attempt.cutOff,
      );
      expectThat(others.length < 4, 'five recoveries at the same time');
    }
    if (before) delivery.interruptions += 1;
    delivery.attempt = {
      kind,
      startedAt: now,
      moment: ++this.moment,
      onSchedule: pending && kind !== 'recovery' && delivery.asked !== 'recovery' && delivery.scheduled < 8,
      admitted,
      cutOff: false,
      wanted: true,
    };
    return delivery.attempt;
  }

  private underway(endpointId: Id, which: (attempt: ModelAttempt) => boolean): boolean {
    return this.of(endpointId).some(({ attempt }) => attempt && !attempt.cutOff && which(attempt));
  }

  /** Records the answer, unless another worker has declared the attempt dead and begun it again. */
  answered(id: Id, attempt: ModelAttempt, reply: Reply): void {
    const delivery = this.delivery(id);
    if (delivery.attempt !== attempt) return;
    if (reply.says === 'ok') this.succeeded(delivery, attempt);
    else this.failed(delivery, attempt, reply.says === 'retry' ? reply.seconds : 0, true);
  }

  /**
   * The test calls this after the fourth interruption of an attempt. The attempt then counts as a failure of the delivery, but not of the
   * endpoint.
   */
  gaveUp(id: Id): void {
    const delivery = this.delivery(id);
    expectThat(delivery.interruptions === 4, `a number given up after ${delivery.interruptions} interruptions`);
    if (delivery.attempt) this.failed(delivery, delivery.attempt, 0, false);
  }

  private succeeded(delivery: ModelDelivery, { startedAt }: ModelAttempt): void {
    recorded(delivery);
    if (delivery.status === 'pending') delivery.scheduled = Math.min(8, delivery.scheduled + 1);
    if (delivery.cancelReason === null) {
      delivery.status = 'succeeded';
      delivery.completedAt = startedAt;
      if (delivery.asked !== 'manual') delivery.asked = null;
    }
    Object.assign(this.endpoint(delivery.endpointId), { failures: 0, failingSince: null, holdUntil: null, armings: 0 });
  }

  private failed(delivery: ModelDelivery, attempt: ModelAttempt, retryAfter: number, charged: boolean): void {
    recorded(delivery);
    const at = attempt.startedAt;
    if (attempt.onSchedule) delivery.scheduled += 1;
    // If a recovery was requested while this attempt was in flight, the result does not change the delivery. The attempt of the recovery
    // comes next.
    if (delivery.status === 'pending' && delivery.asked !== 'recovery') {
      const wait = waits[delivery.scheduled - 1];
      if (attempt.onSchedule ? wait === undefined : attempt.kind === 'recovery') {
        delivery.status = 'failed';
        delivery.completedAt = at;
      } else if (attempt.onSchedule && wait !== undefined && delivery.asked === null) {
        delivery.nextAt = at + Math.max(wait, Math.min(retryAfter * second, 10 * hour));
      }
    }
    const endpoint = this.endpoint(delivery.endpointId);
    if (!charged || endpoint.status === 'disabled') return;
    endpoint.failures += 1;
    endpoint.failingSince ??= at;
    if (endpoint.armings > 0 ? attempt.moment > endpoint.armedAt : endpoint.failures >= 5) {
      endpoint.holdUntil = at + Math.min(minute * 2 ** endpoint.armings, hour);
      endpoint.armings += 1;
      endpoint.armedAt = ++this.moment;
    }
    if (this.isGivenUp(endpoint, at)) this.disable(delivery.endpointId, 'failing', at);
  }

  /** Whether an enabled endpoint has accepted no delivery for 5 days. The time before it was last enabled does not count. */
  isGivenUp({ status, failingSince, enabledAt }: ModelEndpoint, now: number): boolean {
    return status === 'enabled' && failingSince !== null && Math.max(failingSince, enabledAt) + 5 * day <= now;
  }

  enable(endpointId: Id, now: number): void {
    const endpoint = this.endpoint(endpointId);
    if (endpoint.status === 'enabled') return;
    if (endpoint.status === 'disabled') Object.assign(endpoint, { failures: 0, failingSince: null });
    Object.assign(endpoint, { status: 'enabled', disabledReason: null, enabledAt: now });
  }

  disable(endpointId: Id, reason: 'manual' | 'failing', now: number): void {
    const endpoint = this.endpoint(endpointId);
    if (endpoint.status === 'disabled') return;
    Object.assign(endpoint, { status: 'disabled', disabledReason: reason, holdUntil: null, armings: 0 });
    for (const delivery of this.of(endpointId)) cancel(delivery, null, now);
  }

  resend(id: Id, now: number): void {
    const delivery = this.delivery(id);
    delivery.hurried ||= delivery.asked === 'recovery';
    delivery.asked ??= 'manual';
    delivery.nextAt = Math.min(delivery.nextAt, now);
  }

  recover(endpointId: Id, since: number, now: number): number {
    const recovered = this.of(endpointId).filter(
      ({ status, cancelReason, completedAt, purged, createdAt }) =>
        (status === 'failed' || (status === 'canceled' && cancelReason === null)) &&
        (completedAt ?? 0) >= since &&
        !purged &&
        now < createdAt + 30 * day,
    );
    for (const delivery of recovered) {
      Object.assign(delivery, { status: 'pending', completedAt: null, asked: 'recovery', nextAt: now, hurried: false });
    }
    return recovered.length;
  }

  removeStudent(studentId: Id, now: number): void {
    this.removed.add(studentId);
    for (const delivery of this.deliveries.values()) {
      if (delivery.studentId !== studentId) continue;
      delivery.purged = true;
      cancel(delivery, 'student_removed', now);
    }
  }

  /**
   * After an outage, a delivery may expire before or after its endpoint is disabled.
   */
  expired(id: Id, now: number): void {
    const delivery = this.delivery(id);
    const { status, cancelReason, completedAt } = delivery;
    const deadline = delivery.createdAt + 30 * day;
    expectThat(deadline <= now, 'an expiry before 30 days');
    expectThat(delivery.attempt === undefined || delivery.attempt.cutOff, 'an expiry during an attempt');
    const disabledThen = status === 'canceled' && cancelReason === null && (completedAt ?? 0) >= deadline;
    expectThat(status === 'pending' || disabledThen, 'an expiry of an ended delivery');
    delivery.status = 'pending';
    cancel(delivery, 'expired', now);
  }

  rotate(endpointId: Id, secret: string, now: number): void {
    const endpoint = this.endpoint(endpointId);
    endpoint.secrets = [secret, ...endpoint.secrets.slice(0, 1)];
    endpoint.previousUntil = now + day;
  }
}

function recorded(delivery: ModelDelivery): void {
  Object.assign(delivery, { attempt: undefined, interruptions: 0, attempts: delivery.attempts + 1 });
}

/** Drops attempts that are requested or not sent yet. An attempt in flight is still recorded. */
function cancel(delivery: ModelDelivery, reason: ModelDelivery['cancelReason'], now: number): void {
  delivery.asked = null;
  if (delivery.attempt) delivery.attempt.wanted = false;
  if (delivery.status !== 'pending') return;
  Object.assign(delivery, { status: 'canceled', cancelReason: reason, completedAt: now });
}

function found<T>(map: Map<Id, T>, id: Id): T {
  const one = map.get(id);
  if (one === undefined) throw new Error(`Unknown id ${id}.`);
  return one;
}
