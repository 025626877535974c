/**
 * Calls every operation that reads data of a club, as the club's owner, a student and an anonymous caller. The club has data of every kind.
 */
import type { ContractOperation } from '../../contract/contract.ts';
import { openSession } from '../../domain/identity/sessions/sessions.ts';
import type { FurnishedClub } from '../toolkit/builders/furnished-club.ts';
import { callAt } from '../toolkit/drive/api.ts';
import { everyOperation, pathOf } from '../toolkit/drive/every-operation.ts';
import { namedInPath } from '../toolkit/drive/named-records.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import type { Read } from './archive.ts';

type Question = Pick<Read, 'operation' | 'path' | 'caller'>;

/** Matches a signed address of a bucket. Such addresses change with each answer and are therefore not compared. */
const signed = /^https?:\/\/[^?]*\?.*X-Amz-/;
/** Matches an address with a port of this test run. The port changes with each run. */
const local = /https?:\/\/(?:127\.0\.0\.1|localhost):\d+/g;

/** Whether the operation is read. Streams are not read, because a stream does not end. */
const isAsked = ({ method, contentTypes, path }: ContractOperation) =>
  method === 'get' && !contentTypes.includes('text/event-stream') && !path.includes('openapi');

/** @returns the reads about a club, each read once for every kind of caller that may send it */
export function questionsAbout(club: FurnishedClub): Question[] {
  return everyOperation.filter(isAsked).flatMap((operation) => {
    const kinds = operation.auth.length === 0 ? [null] : operation.auth;
    return kinds.map((kind) => {
      const ofClub = operation.pathParameters.includes('clubId');
      const named = ofClub ? namedInPath(operation, kind ?? 'student') : [];
      const records = named.map(({ place, record }) => [place, club.records[record]] as const);
      const path = pathOf(operation, { clubId: club.id, ...Object.fromEntries(records) });
      const id = kind === 'student' ? club.student.id : club.owner.id;
      return { operation: operation.operationId, path, caller: kind && { kind, id } };
    });
  });
}

/** Sends a read. @param base the address of the API @param now the time of the API's clock */
export async function ask(base: string, { operation, path, caller }: Question, now: Date): Promise<Read> {
  const token = caller && (await tokenFor(caller, now));
  const { status, body, headers } = await callAt(base, 'GET', path, token === null ? {} : { token });
  const type = headers.get('content-type')?.split(';')[0] ?? '';
  const answer: unknown = type === 'application/json' ? steady(body) : type;
  return { operation, path, caller, status, answer };
}

/** Opens a new session for each read, because rate limits count the calls of a session. */
async function tokenFor({ kind, id }: NonNullable<Question['caller']>, now: Date): Promise<string> {
  const { db } = await testDeps();
  const { token } = await db.transaction((tx) => openSession(tx, kind, id, now));
  return token;
}

/** Returns the answer without the parts that differ from run to run. */
function steady(value: unknown): unknown {
  if (typeof value === 'string')
    return signed.test(value) ? 'a signed address' : value.replaceAll(local, 'http://here');
  if (Array.isArray(value)) return value.map(steady);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, steady(inner)]));
}

/**
 * @returns the parts of the second value that differ from the first, each with its path `at` such as `/data/0/title`. An additional
 * property is not a difference, because callers must ignore unknown properties
 */
export function differences(recorded: unknown, today: unknown, at = ''): { at: string; was: unknown; is: unknown }[] {
  if (Array.isArray(recorded) && Array.isArray(today) && recorded.length === today.length)
    return recorded.flatMap((item: unknown, index) => differences(item, today[index], `${at}/${index}`));
  if (isRecord(recorded) && isRecord(today))
    return Object.entries(recorded).flatMap(([name, value]) => differences(value, today[name], `${at}/${name}`));
  return Object.is(recorded, today) ? [] : [{ at, was: recorded, is: today }];
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
