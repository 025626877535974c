/**
 * Inserts events with their positions in the logs of their clubs, and their deliveries with the claims of first attempts. Also reads the
 * deliveries of earlier fan-outs (HOOK-1, EVT-24).
 */
import type { Id } from '../../../platform/core/ids.ts';
import type { FactToTell } from '../../../platform/engine/facts.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { claimSql, type ClaimedDelivery } from '../attempts/claims.ts';
import { deliveryIdsOf } from '../deliveries/delivery-id.ts';
import { deliveryRules } from '../deliveries/schedule.policy.ts';
import type { SubscribedEndpoint } from './audience.ts';
import type { ClaimedSite } from './first-attempts.ts';

/** An event with its deliveries, before they are inserted. */
export interface PlannedEvent {
  fact: FactToTell;
  /** Null if the event is not sent. Its deliveries are recorded as canceled. */
  body: string | null;
  /** `site` is set if the fan-out claims the first attempt when it inserts the delivery. */
  deliveries: readonly { id: Id; endpoint: SubscribedEndpoint; site: ClaimedSite | undefined }[];
}

/** A delivery that needs a workflow. */
export interface NewDelivery {
  id: Id;
  endpointId: Id;
  /** Whether no attempt at the endpoint has failed since the last accepted attempt. */
  healthy: boolean;
  /** The first attempt, if the fan-out has claimed it for the run. */
  claimed?: ClaimedDelivery;
}

/**
 * Inserts the rows of events and deliveries that do not exist yet.
 * @returns `inserted` contains the ids of all new deliveries. `late` contains only the new deliveries whose event already existed, because
 * their endpoint subscribed after the first fan-out of the event. A late delivery gets the body and the time of the first fan-out, so the
 * caller must not claim its first attempt
 */
export async function insertEvents(
  tx: Transaction,
  planned: readonly PlannedEvent[],
  now: Date,
): Promise<{ inserted: ReadonlySet<Id>; late: ReadonlySet<Id> }> {
  const events = planned.filter(({ body, deliveries }) => body !== null || deliveries.length > 0);
  const rows = events.flatMap(({ deliveries }, index) => deliveries.map((one) => ({ ...one, place: index + 1 })));
  if (events.length === 0) return { inserted: new Set(), late: new Set() };
  const inserted = await insertDeliveries(tx, {
    now,
    eventIds: events.map(({ fact }) => fact.id),
    clubIds: events.map(({ fact }) => fact.clubId),
    types: events.map(({ fact }) => fact.type),
    studentIds: events.map(({ fact }) => fact.studentId),
    occurredAts: events.map(({ fact }) => fact.occurredAt),
    bodies: events.map(({ body }) => body),
    areSent: events.map(({ body }) => body !== null),
    ids: rows.map(({ id }) => id),
    endpointIds: rows.map(({ endpoint }) => endpoint.endpointId),
    places: rows.map(({ place }) => place),
    areClaimed: rows.map(({ site }) => site !== undefined),
    areDirect: rows.map(({ site }) => site === 'direct lane'),
    leaseSeconds: deliveryRules.leaseSeconds,
    lockSeed: logLockSeed,
  });
  const late = inserted.flatMap(({ id, eventIsNew }) => (eventIsNew ? [] : [id]));
  if (late.length > 0) {
    await tx.run(
      sql`UPDATE webhook_deliveries delivery SET created_at = event.created_at, fence = 0, lease_until = NULL, direct = false
         FROM webhook_events event WHERE delivery.id = ANY (${late}) AND event.id = delivery.event_id`,
    );
    await tx.run(sql`DELETE FROM webhook_attempts WHERE delivery_id = ANY (${late}) AND started_at = ${now}`);
  }
  return { inserted: new Set(inserted.map(({ id }) => id)), late: new Set(late) };
}

interface DeliveryValues {
  now: Date;
  eventIds: readonly Id[];
  clubIds: readonly Id[];
  types: readonly string[];
  studentIds: readonly Id[];
  occurredAts: readonly Date[];
  bodies: readonly (string | null)[];
  areSent: readonly boolean[];
  ids: readonly Id[];
  endpointIds: readonly Id[];
  /** The place of each delivery's event in the list of events, from 1. */
  places: readonly number[];
  areClaimed: readonly boolean[];
  areDirect: readonly boolean[];
  leaseSeconds: number;
  lockSeed: number;
}

/** The seed of the advisory locks of clubs' logs. Any other use of advisory locks needs another seed. */
const logLockSeed = 4_281_966;

/**
 * `log` locks the logs of the clubs before any row is inserted, always in the same order, until the commit. Every position is taken under
 * this lock. So the
 * positions of a club become visible in their order. After a reader has seen a position, no lower one appears (EVT-24).
 */
const insertDeliveries = prepared<{ id: Id; eventIsNew: boolean }, DeliveryValues>(
  'insert_deliveries',
  (value) => `WITH event AS MATERIALIZED (
         SELECT * FROM unnest(${value.eventIds}::uuid[], ${value.clubIds}::uuid[], ${value.types}::text[], ${value.studentIds}::uuid[], ${value.occurredAts}::timestamptz[], ${value.bodies}::text[], ${value.areSent}::boolean[])
           WITH ORDINALITY AS event (id, club_id, type, student_id, occurred_at, body, is_sent, place)),
       log AS MATERIALIZED (
         SELECT club_id, pg_advisory_xact_lock(key) AS lock
           FROM (SELECT DISTINCT club_id, hashtextextended(club_id::text, ${value.lockSeed}) AS key FROM event ORDER BY key, club_id) club),
       inserted AS (
         INSERT INTO webhook_events (id, club_id, type, student_id, occurred_at, created_at)
         SELECT id, club_id, type, student_id, occurred_at, ${value.now} FROM event JOIN log USING (club_id) ORDER BY id ON CONFLICT (id) DO NOTHING
         RETURNING id),
       body AS (
         INSERT INTO webhook_bodies (event_id, created_at, body, club_id, student_id, type, position)
         SELECT id, ${value.now}, body, club_id, student_id, type, nextval('event_positions')
           FROM (SELECT event.* FROM event JOIN inserted USING (id) WHERE body IS NOT NULL ORDER BY place) new_event),
       delivery AS (
         INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, student_id, status, cancel_reason,
                                         payload_purged_at, next_attempt_at, created_at, completed_at, direct, fence, lease_until)
         SELECT delivery.id, event.club_id, delivery.endpoint_id, event.id, event.type, event.student_id,
                CASE WHEN is_sent THEN 'pending' ELSE 'canceled' END, CASE WHEN NOT is_sent THEN 'student_removed' END,
                CASE WHEN NOT is_sent THEN ${value.now} END, ${value.now}, ${value.now}, CASE WHEN NOT is_sent THEN ${value.now} END,
                direct, claimed::int, CASE WHEN claimed THEN ${claimSql.leaseEnd(value.leaseSeconds)} END
           FROM unnest(${value.ids}::uuid[], ${value.endpointIds}::uuid[], ${value.places}::int[], ${value.areClaimed}::boolean[], ${value.areDirect}::boolean[])
             AS delivery (id, endpoint_id, place, claimed, direct)
           JOIN event USING (place)
          ORDER BY event.id, delivery.endpoint_id
         ON CONFLICT DO NOTHING
         RETURNING id, event_id, fence),
       begun AS (
         ${claimSql.insertAttempts('delivery WHERE fence > 0', { number: '1', trigger: `'schedule'`, startedAt: value.now })})
       SELECT id, event_id IN (SELECT id FROM inserted) AS "eventIsNew" FROM delivery`,
);

/** @returns the deliveries of earlier fan-outs that still need a run: pending, and not claimed by a direct lane */
export function readPending(tx: Transaction, eventId: Id): Promise<NewDelivery[]> {
  const { from, to } = deliveryIdsOf(eventId);
  return tx.rows(
    sql`SELECT delivery.id, delivery.endpoint_id AS "endpointId", endpoint.consecutive_failures = 0 AS healthy
       FROM webhook_deliveries delivery JOIN webhook_endpoints endpoint ON endpoint.id = delivery.endpoint_id
      WHERE delivery.id >= ${from} AND delivery.id < ${to} AND delivery.event_id = ${eventId}
        AND delivery.status = 'pending' AND NOT delivery.direct`,
  );
}
