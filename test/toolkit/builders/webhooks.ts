/** Builds webhook endpoints, their subscriptions, and deliveries to the endpoints. */
import { idOfTime, newId, type Id } from '../../../platform/core/ids.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { fanOut } from '../../../domain/webhooks/events/fan-out.ts';
import { newSecret } from '../../../domain/webhooks/endpoints/secrets.ts';
import { testDeps } from '../stack/database.ts';
import { buildClub, buildStudent } from './clubs.ts';
import type { FactToTell } from '../../../platform/engine/facts.ts';

export interface TestEndpoint {
  id: Id;
  secret: string;
}

/** An enabled endpoint. The egress guard does not check the URL. */
export async function buildEndpoint(
  clubId: Id,
  url: string,
  eventTypes: readonly EventType[] = ['student.created', 'student.updated', 'student.removed'],
): Promise<TestEndpoint> {
  const { db, vault } = await testDeps();
  const id = newId();
  const secret = newSecret();
  await db.source.query(
    `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6)`,
    [id, clubId, url, eventTypes, vault.seal(secret, id), new Date()],
  );
  return { id, secret };
}

/** A club with a student, and an endpoint that subscribes to the student's events. */
export interface Subscription {
  clubId: Id;
  studentId: Id;
  endpoint: TestEndpoint;
}

export async function buildSubscription(url: string, eventTypes?: readonly EventType[]): Promise<Subscription> {
  const { id: clubId } = await buildClub();
  const [{ id: studentId }, endpoint] = await Promise.all([
    buildStudent(clubId),
    buildEndpoint(clubId, url, eventTypes),
  ]);
  return { clubId, studentId, endpoint };
}

export interface TestWebhookDelivery extends Subscription {
  id: Id;
  /** The `webhook-id` header of the delivery's attempts. */
  eventId: Id;
}

/** A delivery to the endpoint that is due at `now`. The real fan-out creates it, but no workflow runs for it. */
export async function buildWebhookDelivery(subscription: Subscription, now = new Date()): Promise<TestWebhookDelivery> {
  const { db } = await testDeps();
  const fact = factAbout(subscription, 'student.updated', now);
  const createdDeliveries = await fanOut(db, fact, now);
  const own = createdDeliveries.find(({ endpointId }) => endpointId === subscription.endpoint.id);
  if (!own) throw new Error('The endpoint subscribes to no event of this fact');
  return { ...subscription, id: own.id, eventId: fact.id };
}

export function factAbout(
  { clubId, studentId }: { clubId: Id; studentId: Id },
  type: EventType,
  occurredAt = new Date(),
): FactToTell {
  return { id: idOfTime(occurredAt.getTime()), clubId, type, studentId, subjectId: null, details: null, occurredAt };
}
