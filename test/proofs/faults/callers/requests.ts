/** The requests of the proof: four kinds, each with a mark that finds its effects in Postgres. */
import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../../platform/core/ids.ts';
import { addressKeyOf } from '../../../../platform/infra/keys/address-keys.ts';
import type { Vault } from '../../../../platform/infra/keys/vault.ts';
import type { Recipients } from '../mail/recipients.ts';
import type { Effects } from './tally.ts';

export interface KeyedRequest {
  key: string;
  clubId: Id;
  token: string;
  method: 'POST' | 'PATCH';
  path: string;
  body: object;
  /** A text that no other request has. */
  mark: string;
}

type Kind = (club: Recipients, mark: string) => Pick<KeyedRequest, 'method' | 'path' | 'body'>;

const emailOf = (mark: string) => `${mark}@example.com`;

/** Each kind of request shows if the API handles it twice: a second tag is refused, and a second course, campaign or mail exists. */
const kinds: readonly Kind[] = [
  (_, mark) => ({ method: 'POST', path: '/tags', body: { name: mark } }),
  (_, mark) => ({ method: 'POST', path: '/courses', body: { title: mark } }),
  (_, mark) => ({ method: 'POST', path: '/members', body: { email: emailOf(mark), role: 'editor' } }),
  (_, mark) => ({ method: 'POST', path: '/campaigns', body: { name: mark } }),
];

/** Each club sends each kind of request. */
export function requestsOf(clubs: readonly Recipients[], count: number): KeyedRequest[] {
  return Array.from({ length: count }, (_, number) => {
    const club = clubs[number % clubs.length];
    const kind = kinds[Math.floor(number / clubs.length) % kinds.length];
    if (!club || !kind) throw new Error('The proof has no club');
    const mark = `mark-${randomUUID()}`;
    return { key: randomUUID(), clubId: club.clubId, token: club.ownerToken, mark, ...kind(club, mark) };
  });
}

export async function readEffects(
  source: DataSource,
  vault: Vault,
  requests: readonly KeyedRequest[],
): Promise<Effects> {
  const rows = await source.query<{ mark: string; count: number }[]>(
    `SELECT mark, count(*)::int FROM (
       SELECT name AS mark FROM tags UNION ALL SELECT title FROM courses UNION ALL SELECT name FROM campaigns) AS effect GROUP BY 1`,
  );
  const mails = await source.query<{ key: Buffer; count: number }[]>(
    `SELECT address_key AS key, count(*)::int FROM transactional_mails GROUP BY 1`,
  );
  const mailsByKey = new Map(mails.map(({ key, count }) => [key.toString('hex'), count]));
  const counts = new Map(rows.map(({ mark, count }) => [mark, count]));
  return new Map(
    requests.map(({ mark, path }) => [
      mark,
      path === '/members'
        ? (mailsByKey.get(addressKeyOf(vault, emailOf(mark)).toString('hex')) ?? 0)
        : (counts.get(mark) ?? 0),
    ]),
  );
}
