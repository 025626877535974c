/** The club of the engine in a model test, which is the only club in its database. */
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { VaultDeps } from '../../../domain/deps.ts';
import { eraseWebhooks } from '../drive/erase-webhooks.ts';
import type { VirtualTime } from '../../proofs/simulation/simulated-process.ts';
import { WebhookEngine } from './webhook-engine.ts';
import { day } from './webhook-model.ts';

/**
 * Empties the database. @returns a function that creates the club in the distant past, with students, and with endpoints that subscribe to
 * all events of the students
 */
export async function simulateEngine(
  deps: VaultDeps,
  seal: (secret: string, endpointId: Id) => Buffer,
  { students, endpoints, time }: { students: number; endpoints: number; time: VirtualTime },
): Promise<{ engine: WebhookEngine; studentIds: Id[]; endpointIds: Id[] }> {
  const { source } = deps.db;
  const clubId = newId();
  const now = Date.now() - 100 * day;
  time.begin(now, () => 0.5);
  const engine = await WebhookEngine.open(deps, clubId, time);
  // The deletion of a club deletes all its rows. TRUNCATE would create new files for about 60 tables.
  await eraseWebhooks(source.manager);
  for (const table of ['wakes', 'facts', 'clubs']) await source.query(`DELETE FROM ${table}`);
  await source.query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', $3, $2)`, [
    clubId,
    new Date(now),
    `club-${clubId}`,
  ]);
  const studentIds = Array.from({ length: students }, newId);
  const endpointIds = Array.from({ length: endpoints }, newId);
  for (const id of studentIds) {
    await source.query(
      `INSERT INTO students (id, club_id, name, email, created_at) VALUES ($1, $2, 'Stella', $4, $3)`,
      [id, clubId, new Date(now), `${id}@example.com`],
    );
  }
  for (const id of endpointIds) {
    const secret = `whsec_${id}`;
    await source.query(
      `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at)
       VALUES ($1, $2, 'https://receiver.test/', '{student.created,student.updated,student.removed}', $3, $4, $4)`,
      [id, clubId, seal(secret, id), new Date(now)],
    );
    engine.model.registered(id, secret, now);
  }
  return { engine, studentIds, endpointIds };
}
