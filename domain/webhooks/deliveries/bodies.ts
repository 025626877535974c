/** The body of an event, for its deliveries. */
import type { DataSource } from 'typeorm';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';

/**
 * @param createdAt the event's, and its deliveries': one partition is looked at
 * @returns the exact JSON that is signed and sent; undefined once it is gone
 */
export async function bodyOf(on: DataSource | Queries, eventId: Id, createdAt: Date): Promise<string | undefined> {
  const [kept] = await bodyOfEvent(on, [eventId, createdAt]);
  return kept?.body ?? (await anyBodyOfEvent(on, [eventId]))[0]?.body;
}

const bodyOfEvent = prepared<{ body: string }>(
  'body_of_event',
  `SELECT body FROM webhook_bodies WHERE event_id = $1 AND created_at = $2`,
);

/** Where an endpoint asked later for what an earlier release had fanned out, its delivery is younger than the body. */
const anyBodyOfEvent = prepared<{ body: string }>(
  'any_body_of_event',
  `SELECT body FROM webhook_bodies WHERE event_id = $1 LIMIT 1`,
);
