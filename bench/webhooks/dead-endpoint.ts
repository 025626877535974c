/** Makes an endpoint fail until its deliveries wait for the circuit breaker, and later resets the breaker. */
import type { Database } from '../../platform/infra/postgres/database.ts';
import { sendTest } from '../../domain/webhooks/events/test-event.ts';
import { waitUntil } from '../support.ts';
import { commitFact, type BenchClub, type Scene } from './scene.ts';

/** Attempts begin immediately, so this is enough even for a slow machine. */
const attemptLimitMs = 20_000;
/** The breaker must be open by then. Five failures open it. */
const maxFacts = 20;

/** Sends messages one after another, until the failed attempts have opened the breaker. */
export async function throttle(db: Database, club: BenchClub): Promise<void> {
  for (let facts = 1; facts <= maxFacts; facts++) {
    await commitFact(db, club);
    let throttled = false;
    const hasFailed = async () => {
      const breaker = await breakerOf(db, club);
      throttled = breaker.throttled;
      return breaker.failures >= facts;
    };
    await waitUntil(`attempt ${facts} at the dead endpoint fails`, hasFailed, { timeoutMs: attemptLimitMs });
    if (throttled) return;
  }
  throw new Error(`${maxFacts} failures have not throttled the dead endpoint.`);
}

async function breakerOf(
  { source }: Database,
  { endpointId }: BenchClub,
): Promise<{ failures: number; throttled: boolean }> {
  const [row] = await source.query<{ failures: number; throttled: boolean }[]>(
    `SELECT consecutive_failures AS failures, breaker_step > 0 AS throttled FROM webhook_endpoints WHERE id = $1`,
    [endpointId],
  );
  if (!row) throw new Error('The dead endpoint is gone.');
  return row;
}

/**
 * All committed facts are fanned out, and all due deliveries are parked.
 * @returns the number of parked deliveries
 */
export async function untilParked(
  { source }: Database,
  { clubId, endpointId }: BenchClub,
  timeoutMs: number,
): Promise<number> {
  let now = { facts: 0, due: 0, parked: 0 };
  const isParked = async () => {
    const [row] = await source.query<(typeof now)[]>(
      `SELECT (SELECT count(*)::int FROM facts WHERE club_id = $1) AS facts,
              (SELECT count(*)::int FROM webhook_deliveries
                WHERE endpoint_id = $2 AND status = 'pending' AND parked_at IS NULL AND next_attempt_at <= now()) AS due,
              (SELECT count(*)::int FROM webhook_deliveries WHERE endpoint_id = $2 AND parked_at IS NOT NULL) AS parked`,
      [clubId, endpointId],
    );
    now = row ?? now;
    return now.facts + now.due === 0;
  };
  await waitUntil('all deliveries of the dead endpoint park', isParked, {
    timeoutMs,
    everyMs: 500,
    progressSoFar: () => `${now.parked} have, ${now.facts} facts and ${now.due} deliveries have not`,
  });
  return now.parked;
}

/** Like an administrator when the receiver works again. The test ignores the breaker, and its success resets the breaker. */
export async function sendTestTo({ db, vault }: Scene, { clubId, endpointId }: BenchClub): Promise<void> {
  await sendTest({ db, vault }, clubId, endpointId, new Date());
}
