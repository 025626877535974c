/** The header `Idempotency-Key`: stores the answer of a request, and returns it to a repeated request (ADR 71). */
import { createHash } from 'node:crypto';
import { keptFormOf, keyHeader, replayHeader, type ContractOperation } from '../../contract/contract.ts';
import {
  claimKey,
  keepAnswer,
  RequestRepeated,
  type KeptAnswer,
  type AnswerFinder,
  type KeyedRequest,
} from '../../domain/idempotency/repetitions.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { sha256 } from '../../platform/infra/keys/vault.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import type { Caller } from '../operation.ts';
import { nameOfCaller } from './caller-name.ts';
import type { ApiDeps, Context } from './context.ts';

const keyBounds = { leastCharacters: 1, mostCharacters: 255 } as const;
const printable = /^[ -~]*$/;
/** RFC 9651, 3.3.3. */
const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/**
 * @param values the header's values, one for each line
 * @returns the key without quotes; undefined without the header
 * @throws DomainError malformed_request
 */
export function readKey(values: readonly string[] | undefined): string | undefined {
  if (values === undefined) return undefined;
  const [value = ''] = values;
  const inQuotes = quoted.exec(value)?.[1]?.replaceAll(/\\(["\\])/g, '$1');
  const key = value.startsWith('"') ? inQuotes : value;
  const isKey = key !== undefined && key.length >= keyBounds.leastCharacters && key.length <= keyBounds.mostCharacters;
  if (values.length > 1 || !isKey || !printable.test(key))
    throw new DomainError(
      'malformed_request',
      `The request has a problem: ${keyHeader} must be given once, with 1 to 255 printable characters of ASCII.`,
    );
  return key;
}

export interface Repetition {
  /** @throws DomainError idempotency_key_reused, result_removed */
  find(): Promise<KeptAnswer | undefined>;
  /**
   * @param error of the handler
   * @returns the answer of an earlier request, if this error can be its consequence
   * @throws DomainError like `find`, or request_in_progress
   */
  findAfter(error: unknown): Promise<KeptAnswer | undefined>;
  /** Must be the first statement of the request's transaction. */
  claim(tx: Transaction): Promise<void>;
  /** @returns a function that adds the answer to the row */
  keep(answer: KeptAnswer): (tx: Transaction) => Promise<void>;
}

/** Everything but the time is equal in a repetition. */
export interface RequestWithKey {
  key: string;
  caller: Caller;
  params: Readonly<Record<string, string>>;
  querystring: string;
  body: Buffer | undefined;
  now: Date;
}

/** @returns a function for each request with a key; undefined if answers of the operation are not stored */
export function repetitionsOf(
  { deps }: Pick<ApiDeps, 'deps'>,
  findAnswer: AnswerFinder,
  operation: ContractOperation,
): ((request: RequestWithKey) => Repetition) | undefined {
  if (operation.idempotency !== 'kept') return undefined;
  const { isAboutStudent, bodyToKeep } = keptFormOf(operation);
  return ({ key, caller, params, querystring, body, now }) => {
    const clubId = params['clubId'] ?? (caller.kind === 'student' ? caller.student.clubId : undefined);
    const request: KeyedRequest = {
      caller: nameOfCaller(caller),
      keyHash: sha256(key),
      fingerprint: fingerprintOf(operation, params, querystring, body),
      clubId,
      isAboutStudent,
    };
    let erasures = 0;
    let claimed: Id | undefined;
    const find = async () => {
      const state = await findAnswer(request, now);
      erasures = state.erasures;
      return state.answer;
    };
    return {
      find,
      async findAfter(error) {
        if (error instanceof RequestRepeated) {
          const answer = await find();
          if (answer) return answer;
          throw new DomainError('request_in_progress', `Another request with this ${keyHeader} still runs.`);
        }
        // The effect of an earlier request may be the reason of the refusal.
        return error instanceof DomainError ? find() : undefined;
      },
      async claim(tx) {
        claimed = await claimKey(tx, request, now);
      },
      keep: (answer) => async (tx) => {
        if (claimed === undefined) throw new Error('The key of this request is not claimed');
        await keepAnswer(
          tx,
          deps.vault,
          request,
          { id: claimed, erasures },
          { ...answer, body: bodyToKeep(answer.body) },
        );
      },
    };
  };
}

/** @returns SHA-256 of everything that decides the effect of the request */
export function fingerprintOf(
  { method, path }: ContractOperation,
  params: Readonly<Record<string, string>>,
  querystring: string,
  body: Buffer | undefined,
): Buffer {
  const hash = createHash('sha256').update(JSON.stringify([method, path, params, querystring]));
  return hash
    .update('\n')
    .update(body ?? '')
    .digest();
}

/** @returns an id that is always equal for this caller and key (a UUID of version 8) */
export function idOfKey(caller: Caller, key: string): Id {
  const bytes = sha256(`${nameOfCaller(caller)}\n${key}`).subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export function answerAgain(context: Context, { status, headers, body }: KeptAnswer): void {
  context.set(replayHeader, 'true');
  for (const [name, value] of Object.entries(headers)) context.set(name, value);
  context.status = status;
  if (body !== undefined) context.body = body;
}
