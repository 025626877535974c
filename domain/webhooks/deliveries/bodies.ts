/** Reads the body of an event for its deliveries. */
import type { DataSource } from 'typeorm';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';

/**
 * @param createdAt the creation time of the event and its deliveries. This time selects one partition
 * @returns the exact signed JSON; undefined after its deletion
 */
export async function bodyOf(on: DataSource | Queries, eventId: Id, createdAt: Date): Promise<string | undefined> {
  const [bodyOfTime] = await bodyOfEvent(on, { eventId, createdAt });
  return bodyOfTime?.body ?? (await anyBodyOfEvent(on, { eventId }))[0]?.body;
}

const bodyOfEvent = prepared<{ body: string }, { eventId: Id; createdAt: Date }>(
  'body_of_event',
  (value) => `SELECT body FROM webhook_bodies WHERE event_id = ${value.eventId} AND created_at = ${value.createdAt}`,
);

/**
 * Finds the body in all partitions. A delivery can be younger than the body: an older release fanned out the event, and the endpoint
 * subscribed later.
 */
const anyBodyOfEvent = prepared<{ body: string }, { eventId: Id }>(
  'any_body_of_event',
  (value) => `SELECT body FROM webhook_bodies WHERE event_id = ${value.eventId} LIMIT 1`,
);
