/**
 * `npm run bench -- timing`: does the duration of a call reveal that an address is known (DEC-63)? It makes 2,000 calls (`TIMING_CALLS`)
 * with known addresses and as many with unknown ones, in random order. It compares them by the Mann-Whitney test. It also measures calls
 * without a mail,
 * after the maximum number of mails in an hour.
 */
import { readConfig } from '../config.ts';
import { createOrganization } from '../domain/clubs/organizations.ts';
import { requestRules } from '../domain/mail/transactional/request-bounds.policy.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { Transaction } from '../platform/infra/postgres/database.ts';
import { mannWhitney } from '../test/toolkit/assert/mann-whitney.ts';
import { median, onFreshStack, progress, report } from './support.ts';

export const timingMeasurements = [
  'resend',
  'reset',
  'code',
  'exchange',
  'sign-up',
  'withheld reset',
  'withheld code',
  'withheld exchange',
] as const;
type Measurement = (typeof timingMeasurements)[number];

const callsEach = Number(process.env['TIMING_CALLS'] ?? 2_000);
/** Most calls only wait for the next tick. A sign-up hashes two passwords first, so fewer run in parallel. */
const atOnce = {
  resend: 16,
  reset: 16,
  code: 16,
  exchange: 16,
  'sign-up': 4,
  'withheld reset': 16,
  'withheld code': 16,
  'withheld exchange': 16,
} as const satisfies Record<Measurement, number>;
/** Enough that the sign-ups of each club stay below the limit of unconfirmed sign-ups in an hour. */
const clubCount = 10;

interface Address {
  clubId: Id;
  email: string;
  known: boolean;
}

export async function benchTiming(selection: readonly string[]): Promise<void> {
  await onFreshStack(['postgres'], async ({ env, launch }) => {
    const clubs = await seedClubs(env);
    const { port } = await launch('api/server.ts', 'API_PORT', { TRUSTED_PROXIES: '127.0.0.0/8' });
    const callers = {
      resend,
      reset,
      code,
      exchange,
      'sign-up': signUp,
      'withheld reset': afterMailsOfAnHour('/v1/auth/password-reset', reset),
      'withheld code': afterMailsOfAnHour('/v1/auth/code', code),
      'withheld exchange': afterMailsOfAnHour('/v1/auth/code', exchange),
    } as const satisfies Record<Measurement, CallOf>;
    for (const name of timingMeasurements.filter((one) => selection.includes(one))) {
      const addresses = await seedAddresses(env, clubs, { verified: name !== 'resend' });
      const prepared = await each(addresses, atOnce[name], (address) => callers[name](port, address));
      const times = await each(shuffled(prepared), atOnce[name], async ({ known, call }) => ({
        known,
        ms: await call(),
      }));
      const of = (known: boolean) => times.filter((one) => one.known === known).map(({ ms }) => ms);
      const { share, p } = mannWhitney(of(true), of(false));
      report(`timing ${name}`, {
        'known p50 ms': median(of(true)),
        'unknown p50 ms': median(of(false)),
        'share of pairs with known slower': share,
        p,
      });
      progress(`${name}: ${callsEach} calls each`);
    }
  });
}

interface Prepared {
  known: boolean;
  /** @returns milliseconds */
  call: () => Promise<number>;
}
type CallOf = (port: number, address: Address) => Promise<Prepared>;

const resend: CallOf = async (port, { clubId, email, known }) => ({
  known,
  call: () => timed(port, '/v1/auth/verify-email/resend', { club_id: clubId, email }, 202),
});

const reset: CallOf = async (port, { clubId, email, known }) => ({
  known,
  call: () => timed(port, '/v1/auth/password-reset', { club_id: clubId, email }, 202),
});

const code: CallOf = async (port, { clubId, email, known }) => ({
  known,
  call: () => timed(port, '/v1/auth/code', { club_id: clubId, email }, 202),
});

/** Makes calls for addresses that have already got the maximum number of mails in an hour. */
function afterMailsOfAnHour(path: string, prepare: CallOf): CallOf {
  return async (port, address) => {
    const body = { club_id: address.clubId, email: address.email };
    for (let times = 0; times < requestRules.mailsAnHour; times++) await (await post(port, path, body)).arrayBuffer();
    return prepare(port, address);
  };
}

/** The preceding request for a code does not count. */
const exchange: CallOf = async (port, { clubId, email, known }) => {
  const request = await post(port, '/v1/auth/code', { club_id: clubId, email });
  const { data } = (await request.json()) as { data: { code_id: Id } };
  const body = { club_id: clubId, email, code_id: data.code_id, code: '000000' };
  return { known, call: () => timed(port, '/v1/auth/code/exchange', body, 410) };
};

const signUp: CallOf = async (port, { clubId, email, known }) => ({
  known,
  call: () =>
    timed(
      port,
      `/v1/clubs/${clubId}/classroom/sign-up`,
      { name: 'Ada', email, password: 'correct horse battery' },
      202,
    ),
});

let addressesUsed = 0;

/** Each call has a different network address, so that no rate limit applies. */
function post(port: number, path: string, body: object): Promise<Response> {
  addressesUsed += 1;
  const ip = [100, 64 + (addressesUsed >> 16), (addressesUsed >> 8) & 255, addressesUsed & 255].join('.');
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': ip },
    body: JSON.stringify(body),
  });
}

/** @throws Error if an answer has an unexpected status */
async function timed(port: number, path: string, body: object, expected: number): Promise<number> {
  const begin = performance.now();
  const answer = await post(port, path, body);
  await answer.arrayBuffer();
  const ms = performance.now() - begin;
  // A random code is right once in a million.
  if (answer.status !== expected && !(expected === 410 && answer.status === 200))
    throw new Error(`${path} answers ${answer.status}`);
  return ms;
}

async function seedClubs(env: Record<string, string>): Promise<Id[]> {
  const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
  await migrate(source);
  const ownerId = newId();
  await source.query(
    `INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Ada', $2, now(), now())`,
    [ownerId, `${ownerId}@example.com`],
  );
  const clubs: Id[] = [];
  for (let number = 1; number <= clubCount; number++) {
    const accounts = await source.transaction((tx) =>
      createOrganization(new Transaction(tx), ownerId, { name: `Club ${number}`, plan: 'professional' }, new Date()),
    );
    clubs.push(accounts.organization_id);
  }
  await source.destroy();
  return clubs;
}

/** Half of the addresses belong to students of the clubs; the other half is unknown. */
async function seedAddresses(
  env: Record<string, string>,
  clubs: readonly Id[],
  { verified }: { verified: boolean },
): Promise<Address[]> {
  const addresses = Array.from({ length: 2 * callsEach }, (_, index) => {
    const id = newId();
    const clubId = clubs[(index >> 1) % clubs.length] ?? '';
    return { id, clubId, email: `${id}@example.com`, known: index % 2 === 0 };
  });
  const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
  await source.query(
    `INSERT INTO students (id, club_id, name, email, verified_at, created_at)
     SELECT (one->>'id')::uuid, (one->>'clubId')::uuid, 'Student', one->>'email', CASE WHEN $2 THEN now() END, now()
       FROM jsonb_array_elements($1::jsonb) AS one`,
    [JSON.stringify(addresses.filter(({ known }) => known)), verified],
  );
  await source.destroy();
  return addresses;
}

/** Works on `width` items at the same time. */
async function each<T, R>(items: readonly T[], width: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const remaining = items.values();
  const worker = async () => {
    for (const item of remaining) results.push(await work(item));
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
