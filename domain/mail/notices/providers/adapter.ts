/** The interface of the adapters: each reads the notices of one provider, and verifies their signatures (BNC-2). */
import { DomainError } from '../../../../platform/core/errors.ts';
import { readJson, type JsonBounds } from '../../../../platform/core/json.ts';
import type { MailEvent } from '../mail-event.policy.ts';
import type { Receipt } from '../receipts.ts';
import type { Json } from './fields.policy.ts';

export interface NoticeRequest {
  /** The bytes of the body, as they arrived. */
  raw: Buffer;
  /** @returns an empty text if the header is missing */
  header: (name: string) => string;
  now: Date;
}

export interface Notice {
  events: readonly MailEvent[];
  /** Undefined if the provider signs nothing. */
  receipt: Receipt | undefined;
}

/**
 * Reads a notice. Events with ignored words, and events without a time, are left out.
 * @throws DomainError signature_invalid, malformed_request
 */
export type ReadNotice = (request: NoticeRequest) => Notice;

/** SendGrid sends the largest bodies: about 768 KB, with some fifteen values for each event. */
const bounds: JsonBounds = { depth: 32, values: 60_000 };

/** @throws DomainError malformed_request if the body is neither an object nor a list of objects */
export function readObjects(raw: Buffer): readonly Json[] {
  const body = readJson(raw, bounds);
  const objects: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (!objects.every(isObject))
    throw new DomainError('malformed_request', 'The body is neither a JSON object nor a list of JSON objects.');
  return objects;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const badSignature = () =>
  new DomainError('signature_invalid', 'The notice is not signed with the key that is configured for this provider.');

/** A clock of the provider may be fast by this time. */
const fastClockMs = 300_000;

/**
 * @param validMs how long a signature is valid. A provider that repeats a notice with its old signature needs as long as it repeats
 * @throws DomainError signature_invalid
 */
export function requireFresh(signedAt: Date | undefined, validMs: number, now: Date): void {
  const age = signedAt === undefined ? Number.NaN : now.getTime() - signedAt.getTime();
  if (!(age <= validMs && age >= -fastClockMs))
    throw new DomainError('signature_invalid', 'The signature of the notice is too old, or its time is in the future.');
}
