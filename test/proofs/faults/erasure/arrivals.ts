/** Facts, sales notices and uploads that arrive at a club before, during and after its erasure. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../../platform/core/ids.ts';
import { recordFact } from '../../../../platform/engine/facts.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { between } from '../ranges.ts';
import type { ProofClub } from './clubs.ts';

interface Count {
  accepted: number;
  refused: number;
  /** A process was dead. */
  unanswered: number;
}

export type Arrivals = Readonly<Record<'facts' | 'requests' | 'notices' | 'uploads', Count>>;

const pauseMs = { least: 400, most: 2_000 };
const answerWithinMs = 10_000;
/** Facts of this number of students arrive, each several times. */
const students = 200;

/**
 * Sends to all clubs until the caller stops the arrivals.
 * @returns the counts, and a function that stops and resolves when the last arrival is answered
 */
export function startArrivals(
  db: Database,
  apiUrl: string,
  clubs: readonly ProofClub[],
): { counts: Arrivals; stop: () => Promise<void> } {
  const count = (): Count => ({ accepted: 0, refused: 0, unanswered: 0 });
  const counts = { facts: count(), requests: count(), notices: count(), uploads: count() };
  let isOver = false;
  const again = async (kind: keyof Arrivals, send: () => Promise<keyof Count>) => {
    while (!isOver) {
      counts[kind][await send().catch(() => 'unanswered' as const)] += 1;
      await sleep(between(pauseMs));
    }
  };
  const loops = clubs.flatMap((club) => {
    const addresses: Address[] = [];
    return [
      again('facts', () => commitFact(db, club)),
      again('requests', () => changeName(apiUrl, club)),
      again('notices', () => postNotice(apiUrl, club)),
      again('uploads', () => reserve(apiUrl, club, addresses)),
      again('uploads', () => uploadLate(addresses)),
    ];
  });
  return {
    counts,
    async stop() {
      isOver = true;
      await Promise.all(loops);
    },
  };
}

/**
 * A request that the API accepted just before the closing may commit its fact later. Like each request, it locks its student, so it fails
 * once the student is erased.
 */
async function commitFact(db: Database, { id: clubId }: ProofClub): Promise<keyof Count> {
  return db.transaction(async (tx) => {
    const student = await tx.one<{ id: Id }>(sql`
      SELECT id FROM (SELECT id FROM students WHERE club_id = ${clubId} LIMIT ${students}) sample ORDER BY random() LIMIT 1`);
    const locked = student && (await tx.one(sql`SELECT 1 FROM students WHERE id = ${student.id} FOR KEY SHARE`));
    if (!student || !locked) return 'refused';
    await recordFact(tx, { clubId, studentId: student.id, type: 'student.updated', occurredAt: new Date() });
    return 'accepted';
  });
}

const changeName = (apiUrl: string, { id, owner, student, word }: ProofClub): Promise<keyof Count> =>
  outcomeOf(`${apiUrl}/v1/clubs/${id}/students/${student.id}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: `Stella ${word} ${Math.floor(Math.random() * 1_000)}` }),
  });

const postNotice = (apiUrl: string, { shop, word }: ProofClub): Promise<keyof Count> => {
  const sale = crypto.randomUUID();
  return outcomeOf(`${apiUrl}/webhooks/generic/${shop.token}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      event: 'purchase.paid',
      occurred_at: new Date().toISOString(),
      product: { id: shop.productId },
      buyer: { email: `${sale}@${word}.example`, name: `Bea ${word}` },
      purchase: { id: sale, amount: 4_900, currency: 'EUR', paid_at: new Date().toISOString() },
    }),
  });
};

interface Address {
  url: string;
  headers: Record<string, string>;
}

/** Reserves a file, and uploads it immediately or later. */
async function reserve(apiUrl: string, { id, owner }: ProofClub, addresses: Address[]): Promise<keyof Count> {
  const answer = await fetch(`${apiUrl}/v1/clubs/${id}/media`, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ file_name: 'knots.md', mime: 'text/markdown', size_bytes: contents.length }),
    signal: AbortSignal.timeout(answerWithinMs),
  });
  const body = (await answer.json()) as { data?: { id: Id }; upload?: Address };
  if (!answer.ok || body.upload === undefined || body.data === undefined) return 'refused';
  if (Math.random() < 0.5) {
    addresses.push(body.upload);
    return 'accepted';
  }
  await upload(body.upload);
  return outcomeOf(`${apiUrl}/v1/clubs/${id}/media/${body.data.id}/complete`, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.token}` },
  });
}

const contents = '# Knots and bends\n';

/** A signed address works for a while, even after the closing and after the first erasure of the objects. */
const uploadLate = (addresses: readonly Address[]): Promise<keyof Count> => {
  const address = addresses[Math.floor(Math.random() * addresses.length)];
  return address ? upload(address) : Promise.resolve('refused');
};

const upload = ({ url, headers }: Address): Promise<keyof Count> =>
  outcomeOf(url, { method: 'PUT', headers, body: contents });

async function outcomeOf(url: string, request: RequestInit): Promise<keyof Count> {
  const answer = await fetch(url, { ...request, signal: AbortSignal.timeout(answerWithinMs) });
  await answer.arrayBuffer();
  if (answer.ok) return 'accepted';
  return answer.status >= 500 ? 'unanswered' : 'refused';
}
