/**
 * The header `Idempotency-Key` (IDEM-1): which operations take it, and what the published document says about it. The rule replaces 130
 * equal lines in path files.
 */
import type { Method, OperationObject, ParameterObject, Reference, ResponseObject } from '../openapi.ts';

/**
 * The effect of the header:
 *   - `kept`: the answer is kept, and a repetition gets it.
 *   - `own`: the operation recognizes a repetition by itself.
 *   - `repeatable`: a repetition does no harm, and runs again.
 */
export type Idempotency = 'kept' | 'own' | 'repeatable';

/** @returns the effect of the header; undefined if the operation does not take the header, because it is a read or needs no session */
export function idempotencyOf(
  method: Method,
  { operationId, security, 'x-idempotency': exception }: OperationObject,
): Idempotency | undefined {
  const takesKey = (method === 'post' || method === 'patch') && security.length > 0;
  if (!takesKey && exception !== undefined)
    throw new Error(`${operationId} takes no Idempotency-Key. Remove x-idempotency from the path file.`);
  return takesKey ? (exception ?? 'kept') : undefined;
}

export const keyHeader = 'Idempotency-Key';
export const replayHeader = 'Idempotent-Replayed';

/** A key: 1 to 255 printable characters of ASCII, bare or as a quoted string of structured fields (RFC 9651). */
export const keyPattern = String.raw`^(?:"(?:[ !#-\[\]-~]|\\["\\]){1,255}"|[!#-~](?:[ -~]{0,253}[!-~])?)$`;

export const keyParameter: ParameterObject = {
  name: keyHeader,
  in: 'header',
  required: false,
  description:
    'Makes a repetition of this request safe: 1 to 255 printable characters of ASCII, bare or quoted. See *Safe retries* in the introduction.',
  schema: { type: 'string', pattern: keyPattern },
  example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
};

export const replayHeaderObject = {
  description: '`true` on the answer to a repetition; otherwise absent.',
  schema: { type: 'string', const: 'true' },
  example: 'true',
};

const sentences: Readonly<Record<Idempotency, string>> = {
  kept: '',
  own: 'This operation recognizes a repetition by itself.',
  repeatable: '`Idempotency-Key` is accepted and has no effect: a repetition runs again, and does no harm.',
};

/** @returns the sentences about repetitions for the description of an operation. Empty if the introduction says everything */
export function aboutRepetitions(idempotency: Idempotency | undefined, signedFields: readonly string[]): string {
  if (idempotency === undefined) return '';
  if (idempotency !== 'kept' || signedFields.length === 0) return sentences[idempotency];
  const names = signedFields.map((name) => `\`${name}\``).join(', ');
  return `A repeated answer lacks ${names}, because signed addresses are not kept: a read has fresh ones.`;
}

/** Adds the header of repeated answers to a success response. */
export function withReplayHeader(response: ResponseObject | Reference): ResponseObject | Reference {
  if ('$ref' in response) return response;
  const headers = { ...response.headers, [replayHeader]: { $ref: '#/components/headers/IdempotentReplayed' } };
  return { ...response, headers };
}
