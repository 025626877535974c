/**
 * Checks invariants after every step of the webhook engine. Postgres must agree with the model. For every open delivery, a workflow, a
 * gate, a wake or the sweeper must act at a later time.
 */
import { expect } from 'chai';
import { type Database, Queries } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import { findEndpoint } from '../../../domain/webhooks/endpoints/endpoints.ts';
import type { WebhookDelivery } from '../../../entities/webhooks/webhook-delivery.ts';
import { WebhookDelivery as Deliveries } from '../../../entities/webhooks/webhook-delivery.ts';
import { WebhookEndpoint as Endpoints } from '../../../entities/webhooks/webhook-endpoint.ts';
import type { WebhookEngine } from './webhook-engine.ts';
import { day, type ModelEndpoint } from './webhook-model.ts';

/**
 * The model computes exact times. The engine records an answer when the answer arrives, so the times of the engine may be later by this
 * value.
 */
const recordedWithinMs = 5_000;

/**
 * Compares the engine with the model. If a time of the engine is slightly later than the time of the model, the model uses the engine's
 * time from then on.
 */
export async function expectAsInModel(engine: WebhookEngine, { source }: Database): Promise<void> {
  const rows = await source.manager.find(Deliveries);
  expect(rows.length, 'deliveries').to.equal(engine.model.deliveries.size);
  for (const row of rows) compareDelivery(engine, row);
  for (const [endpointId, endpoint] of engine.model.endpoints) {
    if (endpoint.deleted) continue;
    const endpointRecord = await findEndpoint(
      new Queries(source.manager),
      engine.clubId,
      endpointId,
      new Date(engine.now),
    );
    if (endpointRecord.disabled_reason === 'failing' && endpoint.status === 'enabled') {
      expect(
        engine.model.isGivenUp(endpoint, Date.parse(endpointRecord.disabled_at ?? '')),
        'abandoned in time',
      ).to.equal(true);
      engine.model.disable(endpointId, 'failing', Date.parse(endpointRecord.disabled_at ?? ''));
      for (const row of rows) if (row.endpointId === endpointId) compareDelivery(engine, row);
    }
    compareEndpoint(engine, endpointId, endpoint, endpointRecord);
  }
}

function compareDelivery(engine: WebhookEngine, row: WebhookDelivery): void {
  const model = engine.model.delivery(row.id);
  const endpoint = engine.model.endpoint(model.endpointId);
  const overdue = model.createdAt + 30 * day <= engine.now;
  if (row.cancelReason === 'expired' && model.cancelReason !== 'expired') {
    engine.model.expired(row.id, row.completedAt?.getTime() ?? 0);
  } else if (overdue && row.requested === null && model.status !== 'pending') {
    model.asked = null; // a requested attempt is dropped after 30 days, because the body is deleted soon
  }
  const wasDropped =
    (row.status === 'canceled' && model.status === 'pending') || (row.requested === null && model.asked !== null);
  const givenUp = wasDropped && engine.model.isGivenUp(endpoint, engine.now + recordedWithinMs);
  if (givenUp) return; // the delivery is compared after the endpoint was disabled
  expect(
    {
      status: row.status,
      cancelReason: row.cancelReason,
      purged: row.payloadPurgedAt !== null,
      attempts: row.attemptCount,
      asked: row.requested,
    },
    `delivery ${row.id}: ${JSON.stringify(row)}`,
  ).to.deep.equal({
    status: model.status,
    cancelReason: model.cancelReason,
    purged: model.purged,
    attempts: model.attempts,
    asked: model.asked,
  });
  if (row.status === 'pending') {
    // If a delivery waited for the gate, the row stores when the gate released the delivery.
    const released = row.nextAttemptAt.getTime() <= engine.now && model.nextAt <= engine.now;
    if (released) model.nextAt = Math.max(model.nextAt, row.nextAttemptAt.getTime());
    take(model, 'nextAt', row.nextAttemptAt);
  }
  take(model, 'completedAt', row.completedAt);
}

function compareEndpoint(
  engine: WebhookEngine,
  endpointId: Id,
  model: ModelEndpoint,
  shown: Awaited<ReturnType<typeof findEndpoint>>,
): void {
  expect(
    {
      status: shown.status,
      disabledReason: shown.disabled_reason ?? null,
      failures: shown.consecutive_failures,
      pending: shown.pending_deliveries,
      rotating: shown.previous_secret_expires_at !== undefined,
    },
    `endpoint ${endpointId}: ${JSON.stringify(shown)}`,
  ).to.deep.equal({
    status: model.status,
    disabledReason: model.disabledReason,
    failures: model.failures,
    pending: engine.model.of(endpointId).filter(({ status }) => status === 'pending').length,
    rotating: engine.now < model.previousUntil,
  });
  take(model, 'failingSince', shown.failing_since === undefined ? null : new Date(shown.failing_since));
  // The record of an endpoint shows the end of a wait only during the wait.
  if (shown.hold_until !== undefined) take(model, 'holdUntil', new Date(shown.hold_until));
  else expect(model.holdUntil ?? 0, 'the record does not show this wait').to.be.at.most(engine.now);
}

function take<Key extends string>(model: { [K in Key]: number | null }, key: Key, actual: Date | null): void {
  const expected = model[key];
  if (expected === null || actual === null) {
    expect(actual, key).to.equal(expected);
    return;
  }
  expect(actual.getTime() - expected, `${key}, compared with its latest allowed time`).to.be.within(
    0,
    recordedWithinMs,
  );
  model[key] = actual.getTime();
}

/**
 * Expects that something continues each open delivery: a workflow that waits for the correct time, an unsent wake, the gate, or the
 * sweeper.
 */
export async function expectNothingStranded(engine: WebhookEngine, { source }: Database): Promise<void> {
  const [rows, endpoints, wakes] = await Promise.all([
    source.manager.find(Deliveries),
    source.manager.find(Endpoints),
    source.query<{ workflowId: string }[]>(`SELECT workflow_id AS "workflowId" FROM wakes`),
  ]);
  const woken = new Set(wakes.map(({ workflowId }) => workflowId));
  const gates = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  for (const row of rows) {
    const requestedKind = row.requested ?? row.inFlight;
    if (row.status !== 'pending' && requestedKind === null) {
      expect(row.parkedAt, `delivery ${row.id} has ended: parked`).to.equal(null);
      continue;
    }
    const about = `delivery ${row.id} (${row.status}, ${requestedKind ?? 'no requested attempt'})`;
    const endpoint = gates.get(row.endpointId);
    expect(endpoint?.status, `${about}: its endpoint`).not.to.equal('disabled');
    if (requestedKind !== null && row.parkedAt === null) {
      expect(row.nextAttemptAt.getTime(), `${about}: the sweeper finds it from`).to.be.at.most(
        engine.now + recordedWithinMs,
      );
    }
    const looksAt = engine.looksAt('webhookDelivery', row.id);
    const toldSoon = woken.has(workflowIdOf('webhookDelivery', row.id));
    if (row.parkedAt !== null) {
      const gateWoken = woken.has(workflowIdOf('endpointGate', row.endpointId));
      expect(gateWoken || endpoint?.gateLooksAt !== null, `${about}: parked, and the gate will run`).to.equal(true);
      continue;
    }
    if (engine.lossy || engine.relayAway || toldSoon) continue;
    // No signal was lost, so the delivery's own workflow waits for the correct time.
    const due = requestedKind === null ? row.nextAttemptAt.getTime() : engine.now;
    expect(looksAt, `${about}: the next look of its workflow`).to.be.at.most(Math.max(due, engine.now) + 26_000);
  }
  if (!engine.lossy && !engine.relayAway && woken.size === 0) expectGatesAtWork(engine, endpoints, rows);
}

/**
 * Checks the gates. While a gate is open, no delivery may be parked. If deliveries are parked after the wait of a gate, the gate must have
 * released one of them.
 */
function expectGatesAtWork(engine: WebhookEngine, endpoints: Endpoints[], rows: Deliveries[]): void {
  for (const endpoint of endpoints) {
    const parked = rows.filter(({ endpointId, parkedAt }) => endpointId === endpoint.id && parkedAt !== null);
    const looksAt = engine.looksAt('endpointGate', endpoint.id);
    if (parked.length > 0) expect(looksAt, 'a gate with parked deliveries').not.to.equal(undefined);
    if (endpoint.status !== 'enabled') continue;
    const byHand = parked.filter(({ requested, inFlight }) => ['manual', 'test'].includes(requested ?? inFlight ?? ''));
    expect(byHand.length, 'a requested attempt of a parked delivery').to.equal(0);
    const model = engine.model.endpoint(endpoint.id);
    const scheduled = parked.filter(({ requested }) => requested !== 'recovery');
    if (model.armings === 0 || scheduled.length === 0 || (model.holdUntil ?? 0) > engine.now) continue;
    expect(endpoint.admittedDeliveryId, 'the wait is over and no delivery was released').not.to.equal(null);
  }
}
