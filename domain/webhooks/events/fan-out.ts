/**
 * Fans a fact out: one body, read from the resource as it is now, and one delivery for each endpoint that asked for the type
 * (HOOK-1).
 */
import type { EventBodyOf } from '../../../contract/contract.ts';
import {
  boundLockWaits,
  type Database,
  type Queries,
  type Transaction,
} from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { runOf, type Run } from '../../../platform/engine/workflow-types.ts';
import { bulk } from '../../../entities/facts/values.ts';
import { removeFacts, togetherWaitsMs, type ClaimedFact, type FactToTell } from '../../../platform/engine/facts.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { leaseSeconds, type Claim } from '../attempts/attempt.ts';
import { deliveryIdOf, deliveryIdsOf } from '../deliveries/delivery-id.ts';
import type { ClaimedDelivery, DirectLane, Lane } from '../attempts/claims.ts';
import { accessBodies } from './bodies/access.ts';
import { certificateBodies } from './bodies/certificates.ts';
import { learningBodies } from './bodies/learning.ts';
import type { DataReader, FactAndStudent, SubjectStudent } from './bodies/reading.ts';
import { salesBodies } from './bodies/sales.ts';
import { standingBodies } from './bodies/standing.ts';
import { studentBodies } from './bodies/student.ts';

/** A delivery whose workflow is to be started. */
export interface NewDelivery {
  id: Id;
  endpointId: Id;
  /** The endpoint's last attempt did not fail. */
  healthy: boolean;
  /** Its first attempt, which the fan-out has claimed for its run. */
  claimed?: ClaimedDelivery;
}

export interface FanOutOptions {
  /** Takes the first attempts that it has slots for, and makes them in this process; absent: all are made by runs. */
  lane?: DirectLane;
  /** Of these, the first attempts whose runs begin in this process: they are claimed in advance. Absent: no run's attempt is. */
  localLane?: Lane;
  /** Facts that other consumers still need: they are not to be removed. */
  kept?: ReadonlySet<Id>;
}

/**
 * Inserts the event and its deliveries, in one transaction; doing it again changes nothing and gives the same answer, so
 * that a relay which died between the commit and the start is made good by the next one.
 * @returns the deliveries that have a way to go; none for a student who was removed meanwhile
 */
export async function fanOut(db: Database, fact: FactToTell, now: Date): Promise<readonly NewDelivery[]> {
  const { made } = await inLanes({}, (attempts) => fanOutAlone(db, fact, { now, attempts }));
  return made;
}

/**
 * Fans facts out. Several go in one transaction, which waits for nobody's student and hardly for an endpoint.
 * @returns for each fact the workflows of its deliveries; undefined for a fact whose student somebody holds: it is to be given alone;
 *   `removed` with a lane, for a fact that leaves nothing else to do
 * @throws error of the transaction, which has left nothing behind: each fact is to be given alone
 */
export async function fanOutFacts(
  db: Database,
  facts: readonly ClaimedFact[],
  now: Date,
  { lane, localLane, kept = new Set() }: FanOutOptions = {},
): Promise<(readonly DeliveryRun[] | 'removed' | undefined)[]> {
  const asked = await askedFor(db, facts);
  if (asked.length > 0) await lane?.ready();
  const [first] = asked;
  const told = await inLanes({ ...(lane && { lane }), ...(localLane && { localLane }) }, async (attempts) => {
    const manner = { now, attempts, ...(lane && { kept }) };
    if (facts.length === 1 && first) return new Map([[first.id, await fanOutAlone(db, first, manner)]]);
    return fanOutAll(db, asked, manner);
  });
  const isAsked = new Set(asked.map(({ id }) => id));
  return facts.map(({ id, clubId, type }) => {
    if (!isAsked.has(id)) return [];
    const of = told.get(id);
    if (of?.removed) return 'removed';
    return of?.made.map((delivery) => ({
      ...runOf('webhookDelivery', { id: delivery.id, clubId, endpointId: delivery.endpointId, eventType: type }),
      ...(delivery.healthy && { localAttemptAt: delivery.endpointId }),
      ...(delivery.claimed && { claimed: delivery.claimed }),
    }));
  });
}

/** The run of a delivery that is to be started. */
export interface DeliveryRun extends Run {
  /** The endpoint that counts a first attempt in the relay's own process; absent where none may be made there. */
  localAttemptAt?: Id;
  /** That attempt's claim, which has a place already. */
  claimed?: ClaimedDelivery;
}

type Lanes = Pick<FanOutOptions, 'lane' | 'localLane'>;

/** First attempts of one fan-out, as it goes. */
interface Attempts extends Lanes {
  /** Deliveries that have a slot. */
  taken: { id: Id; by: Lane }[];
  /** Direct ones that the transaction claims. */
  claimed: ClaimedDelivery[];
}

/** Begins what the fan-out has claimed once it has committed, and gives the other slots back. */
async function inLanes<T>(lanes: Lanes, fanningOut: (attempts: Attempts) => Promise<T>): Promise<T> {
  const attempts: Attempts = { ...lanes, taken: [], claimed: [] };
  try {
    const made = await fanningOut(attempts);
    lanes.lane?.begin(attempts.claimed);
    return made;
  } catch (error) {
    beginAnew(attempts);
    throw error;
  }
}

/** A transaction is tried again, or given up. */
function beginAnew({ taken, claimed }: Attempts): void {
  for (const { id, by } of taken.splice(0)) by.giveBack([id]);
  claimed.splice(0);
}

/** How facts are fanned out. */
interface Manner {
  now: Date;
  attempts: Attempts;
  /** Absent where facts are not removed here. */
  kept?: ReadonlySet<Id>;
}

/** What became of a fact. */
interface FannedOut {
  /** Its deliveries that need a run. */
  made: readonly NewDelivery[];
  removed: boolean;
}

async function fanOutAlone(db: Database, fact: FactToTell, manner: Manner): Promise<FannedOut> {
  return db.transaction(async (tx) => {
    beginAnew(manner.attempts);
    const [fannedOut] = await insertTold(tx, [{ fact, ...(await lockAudience(tx, fact)) }], manner);
    return fannedOut ?? { made: [], removed: false };
  });
}

/** @returns by fact; without those whose student somebody holds */
async function fanOutAll(
  db: Database,
  facts: readonly ClaimedFact[],
  manner: Manner,
): Promise<ReadonlyMap<Id, FannedOut>> {
  if (facts.length === 0) return new Map();
  return db.transaction(async (tx) => {
    beginAnew(manner.attempts);
    await boundLockWaits(tx, togetherWaitsMs);
    const locked = await lockFreeStudents(tx, [facts.map(({ studentId }) => studentId)]);
    const students = new Map(locked.map((student) => [student.id, student]));
    const free = facts.filter(({ studentId }) => students.has(studentId));
    const endpoints = await lockEndpoints(tx, [free.map(({ clubId }) => clubId), free.map(({ type }) => type)]);
    const told = free.map((fact) => ({
      fact,
      student: students.get(fact.studentId),
      endpoints: endpoints.filter(({ clubId, types }) => clubId === fact.clubId && types.includes(fact.type)),
    }));
    const fannedOut = await insertTold(tx, told, manner);
    return new Map(free.map(({ id }, place) => [id, fannedOut[place] ?? { made: [], removed: false }]));
  });
}

interface Told extends Audience {
  fact: FactToTell;
}

/** Events about a removed student are not sent, except the removal itself (DEL-9). */
function hasBody(told: Told): told is Told & FactAndStudent {
  const { fact, student, endpoints } = told;
  return endpoints.length > 0 && student !== undefined && (!student.removed || fact.type === 'student.removed');
}

/** What a fact is to leave. */
interface Wanted {
  fact: FactToTell;
  /** Null for what is not sent. */
  body: string | null;
  deliveries: { id: Id; endpoint: AskingEndpoint; by: Lane | undefined }[];
}

/** @returns what became of each fact */
async function insertTold(tx: Transaction, told: readonly Told[], manner: Manner): Promise<FannedOut[]> {
  const { attempts } = manner;
  const wanted = await wantedBy(tx, told, manner);
  const claimedAt = performance.now();
  const { inserted, late } = await insertWanted(tx, wanted, manner);
  const fannedOut: (Pick<FannedOut, 'made'> & { fact: FactToTell })[] = [];
  for (const { fact, body, deliveries } of wanted) {
    const claims = new Map<Id, ClaimedDelivery>();
    for (const { id, endpoint, by } of deliveries) {
      if (!by) continue;
      if (inserted.has(id) && !late.has(id))
        claims.set(id, {
          id,
          claim: firstClaim(fact, endpoint, body ?? '', by, manner),
          claimedAt,
          ...(fact.traceparent && { traceparent: fact.traceparent }),
        });
      else by.giveBack([id]);
    }
    for (const claimed of claims.values()) if (claimed.claim.direct) attempts.claimed.push(claimed);
    const isWhole = deliveries.every(({ id }) => inserted.has(id));
    const open = isWhole ? deliveries.map(newDelivery) : await pendingOf(tx, fact.id);
    const made = open.flatMap((delivery) => {
      const claimed = claims.get(delivery.id);
      return claimed?.claim.direct ? [] : [{ ...delivery, ...(claimed && { claimed }) }];
    });
    fannedOut.push({ fact, made: body === null ? [] : made });
  }
  const removed = await removeDone(tx, fannedOut, manner);
  return fannedOut.map(({ fact, made }) => ({ made, removed: removed.has(fact.id) }));
}

async function wantedBy(tx: Transaction, told: readonly Told[], { now, attempts }: Manner): Promise<Wanted[]> {
  const sent = told.filter(hasBody);
  const bodies = await assembleBodies(tx, sent, now);
  const bodyOf = new Map(sent.map(({ fact }, place) => [fact.id, bodies[place]]));
  return told.map(({ fact, endpoints }) => {
    const body = bodyOf.get(fact.id) ?? null;
    const deliveries = endpoints.map((endpoint) => {
      const id = deliveryIdOf(fact.id, endpoint.endpointId);
      return { id, endpoint, by: body === null ? undefined : laneOf(attempts, id, endpoint) };
    });
    return { fact, body, deliveries };
  });
}

/**
 * @returns the deliveries that were not there before; and of these the late ones, of an event that was: an endpoint asks only now. Their
 *   message is that of the first time, so they are not claimed here, and their time is that of its body
 */
async function insertWanted(
  tx: Transaction,
  wanted: readonly Wanted[],
  { now, attempts }: Manner,
): Promise<{ inserted: ReadonlySet<Id>; late: ReadonlySet<Id> }> {
  const events = wanted.filter(({ deliveries }) => deliveries.length > 0);
  const rows = events.flatMap(({ deliveries }, index) => deliveries.map((one) => ({ ...one, place: index + 1 })));
  if (rows.length === 0) return { inserted: new Set(), late: new Set() };
  const inserted = await insertDeliveries(tx, [
    now,
    events.map(({ fact }) => fact.id),
    events.map(({ fact }) => fact.clubId),
    events.map(({ fact }) => fact.type),
    events.map(({ fact }) => fact.studentId),
    events.map(({ fact }) => fact.occurredAt),
    events.map(({ body }) => body),
    events.map(({ body }) => body !== null),
    rows.map(({ id }) => id),
    rows.map(({ endpoint }) => endpoint.endpointId),
    rows.map(({ place }) => place),
    rows.map(({ by }) => by !== undefined),
    rows.map(({ by }) => by !== undefined && by === attempts.lane),
    leaseSeconds,
  ]);
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

/** Removes the facts that leave nothing else to do. @returns their ids */
async function removeDone(
  tx: Transaction,
  fannedOut: readonly { fact: FactToTell; made: readonly NewDelivery[] }[],
  { kept }: Manner,
): Promise<ReadonlySet<Id>> {
  if (!kept) return new Set();
  const done = fannedOut.flatMap(({ fact, made }) => (made.length === 0 && !kept.has(fact.id) ? [fact] : []));
  if (done.length > 0) await removeFacts(tx, done);
  return new Set(done.map(({ id }) => id));
}

const newDelivery = ({ id, endpoint: { endpointId, healthy } }: Wanted['deliveries'][number]): NewDelivery => ({
  id,
  endpointId,
  healthy,
});

/** @returns the lane in which the first attempt has a slot of this process */
function laneOf(
  { lane, localLane, taken }: Attempts,
  deliveryId: Id,
  { open, endpointId, url }: AskingEndpoint,
): Lane | undefined {
  if (!open) return undefined;
  const by = [lane, localLane].find((one) => one?.take({ deliveryId, endpointId, url }));
  if (by) taken.push({ id: deliveryId, by });
  return by;
}

/** The claim that `insertDeliveries` writes. */
function firstClaim(
  fact: FactToTell,
  endpoint: AskingEndpoint,
  body: string,
  by: Lane,
  { now, attempts: { lane } }: Manner,
): Claim {
  const { endpointId, breakerEpoch, url, secret, previousSecret } = endpoint;
  return {
    fence: 1,
    startedAt: now,
    ...(by === lane && { direct: true }),
    ...(fact.priority !== undefined && { priority: fact.priority }),
    number: 1,
    trigger: 'schedule',
    onSchedule: true,
    schedulePosition: 1,
    interruptions: 0,
    clubId: fact.clubId,
    endpointId,
    breakerEpoch,
    url,
    secret,
    previousSecret,
    eventId: fact.id,
    body,
  };
}

/**
 * Without a lock: an endpoint that asks later comes after these facts.
 * @returns those of several facts, or of bulk, that an endpoint has asked for by now
 */
async function askedFor(db: Queries, facts: readonly ClaimedFact[]): Promise<readonly ClaimedFact[]> {
  if (facts.length === 1 && facts[0]?.priority !== bulk) return facts;
  const unasked = await db.rows<{ id: Id }>(sql`SELECT given.id
      FROM unnest(${facts.map(({ id }) => id)}::uuid[], ${facts.map(({ clubId }) => clubId)}::uuid[], ${facts.map(({ type }) => type)}::text[]) AS given (id, club_id, type)
     WHERE NOT EXISTS (SELECT FROM webhook_endpoints endpoint
       WHERE endpoint.club_id = given.club_id AND endpoint.status <> 'disabled' AND endpoint.event_types @> ARRAY[given.type])`);
  const ids = new Set(unasked.map(({ id }) => id));
  return facts.filter(({ id }) => !ids.has(id));
}

const insertDeliveries = prepared<{ id: Id; eventIsNew: boolean }>(
  'insert_deliveries',
  `WITH event AS MATERIALIZED (
         SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::timestamptz[], $7::text[], $8::boolean[])
           WITH ORDINALITY AS event (id, club_id, type, student_id, occurred_at, body, is_sent, place)),
       inserted AS (
         INSERT INTO webhook_events (id, club_id, type, student_id, occurred_at, created_at)
         SELECT id, club_id, type, student_id, occurred_at, $1 FROM event ORDER BY id ON CONFLICT (id) DO NOTHING
         RETURNING id),
       kept AS (
         INSERT INTO webhook_bodies (event_id, created_at, body)
         SELECT id, $1, body FROM event JOIN inserted USING (id) WHERE body IS NOT NULL),
       delivery AS (
         INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, student_id, status, cancel_reason,
                                         payload_purged_at, next_attempt_at, created_at, completed_at, direct, fence, lease_until)
         SELECT delivery.id, event.club_id, delivery.endpoint_id, event.id, event.type, event.student_id,
                CASE WHEN is_sent THEN 'pending' ELSE 'canceled' END, CASE WHEN NOT is_sent THEN 'student_removed' END,
                CASE WHEN NOT is_sent THEN $1 END, $1, $1, CASE WHEN NOT is_sent THEN $1 END,
                direct, claimed::int, CASE WHEN claimed THEN clock_timestamp() + make_interval(secs => $14) END
           FROM unnest($9::uuid[], $10::uuid[], $11::int[], $12::boolean[], $13::boolean[])
             AS delivery (id, endpoint_id, place, claimed, direct)
           JOIN event USING (place)
          ORDER BY event.id, delivery.endpoint_id
         ON CONFLICT DO NOTHING
         RETURNING id, event_id, fence),
       begun AS (
         INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at)
         SELECT id, fence, 1, 'schedule', $1 FROM delivery WHERE fence > 0)
       SELECT id, event_id IN (SELECT id FROM inserted) AS "eventIsNew" FROM delivery`,
);

interface Audience {
  student: SubjectStudent | undefined;
  endpoints: AskingEndpoint[];
}

/** An endpoint that asked for a fact, and what an attempt needs of it. */
interface AskingEndpoint extends Pick<Claim, 'endpointId' | 'breakerEpoch' | 'url' | 'secret' | 'previousSecret'> {
  /** Its last attempt did not fail. */
  healthy: boolean;
  /** Nothing speaks against an attempt at once: it is enabled, healthy and not throttled. */
  open: boolean;
}

const asking = `consecutive_failures = 0 AS healthy, status = 'enabled' AND consecutive_failures = 0 AND breaker_step = 0 AS open,
       breaker_epoch AS "breakerEpoch", url, secret,
       CASE WHEN previous_secret_expires_at > clock_timestamp() THEN previous_secret END AS "previousSecret"`;

/**
 * Whom it is about and who asked for it, locked before anything is read, the student before the endpoints (the join
 * cannot begin otherwise): a removal, a pause or a disable is wholly before the fan-out or wholly after it.
 */
async function lockAudience(tx: Transaction, fact: FactToTell): Promise<Audience> {
  const rows = await lockStudentAndEndpoints(tx, [fact.clubId, fact.studentId, fact.type]);
  return { student: rows[0], endpoints: rows };
}

const lockStudentAndEndpoints = prepared<SubjectStudent & AskingEndpoint>(
  'lock_student_and_endpoints',
  `WITH student AS MATERIALIZED (
       SELECT id, name, email, verified_at IS NOT NULL AS verified, created_at AS "createdAt", removed_at IS NOT NULL AS removed
         FROM students WHERE id = $2 FOR SHARE)
     SELECT student.*, endpoint.*
       FROM student CROSS JOIN LATERAL (
         SELECT id AS "endpointId", ${asking} FROM webhook_endpoints
          WHERE club_id = $1 AND status <> 'disabled' AND event_types @> ARRAY[$3] AND student.id IS NOT NULL
          ORDER BY id FOR SHARE) endpoint`,
);

/** In the order of their ids, as everywhere where several are; those that somebody holds are left out. */
const lockFreeStudents = prepared<SubjectStudent>(
  'lock_free_students',
  `SELECT id, name, email, verified_at IS NOT NULL AS verified, created_at AS "createdAt", removed_at IS NOT NULL AS removed
     FROM students WHERE id = ANY ($1) ORDER BY id FOR SHARE SKIP LOCKED`,
);

const lockEndpoints = prepared<AskingEndpoint & { clubId: Id; types: EventType[] }>(
  'lock_endpoints_of_clubs',
  `SELECT id AS "endpointId", ${asking}, club_id AS "clubId", event_types AS types
     FROM webhook_endpoints WHERE club_id = ANY ($1) AND status <> 'disabled' AND event_types && $2::text[]
    ORDER BY id FOR SHARE`,
);

/** For a fact that is fanned out again: what is still on its way of what the first time inserted, and is not attempted directly. */
function pendingOf(tx: Transaction, eventId: Id): Promise<NewDelivery[]> {
  const { from, to } = deliveryIdsOf(eventId);
  return tx.rows(
    sql`SELECT delivery.id, delivery.endpoint_id AS "endpointId", endpoint.consecutive_failures = 0 AS healthy
       FROM webhook_deliveries delivery JOIN webhook_endpoints endpoint ON endpoint.id = delivery.endpoint_id
      WHERE delivery.id >= ${from} AND delivery.id < ${to} AND delivery.event_id = ${eventId}
        AND delivery.status = 'pending' AND NOT delivery.direct`,
  );
}

/** One reader an event type; a type without one cannot be sent yet. */
const dataOf: { [Type in EventType]?: DataReader<EventBodyOf<Type>['data']> } = {
  ...studentBodies,
  ...accessBodies,
  ...salesBodies,
  ...certificateBodies,
  ...learningBodies,
  ...standingBodies,
};

/**
 * Reads the records of each type in one statement.
 * @returns for each fact the exact JSON that is signed and sent (DEL-14), in the order of the facts
 */
export async function assembleBodies(db: Queries, told: readonly FactAndStudent[], now: Date): Promise<string[]> {
  const bodies: string[] = [];
  const placed = told.map((one, place) => ({ ...one, place }));
  for (const [type, ofType] of Map.groupBy(placed, ({ fact }) => fact.type)) {
    const read: DataReader<object> | undefined = dataOf[type];
    if (!read) throw new Error(`No body is defined for ${type}`);
    const data = await read(db, ofType, now);
    for (const [index, { fact, place }] of ofType.entries())
      bodies[place] = JSON.stringify({
        id: fact.id,
        type,
        occurred_at: fact.occurredAt.toISOString(),
        club_id: fact.clubId,
        data: data[index],
      });
  }
  return bodies;
}

/** @returns the body of a test message, which no fact causes */
export function assembleTestBody(test: { eventId: Id; clubId: Id; endpointId: Id; occurredAt: Date }): string {
  const body: EventBodyOf<'webhook.test'> = {
    id: test.eventId,
    type: 'webhook.test',
    occurred_at: test.occurredAt.toISOString(),
    club_id: test.clubId,
    data: { endpoint: { id: test.endpointId } },
  };
  return JSON.stringify(body);
}
