/** The error of a refused call (SDK-2). */
import type { ErrorCode } from './generated/client.schemas.ts';
import { ApiError as GeneratedError } from './generated/runtime/errors.ts';

/** The answer to a call that the service refused. It also is the error of the generated part, which never repeats such a stream. */
export class ApiError extends GeneratedError {
  /** The id of the operation, such as `createStudent`. */
  readonly operation: string;
  /** The code of the contract. Undefined if something between this program and the service answered. */
  readonly code: ErrorCode | undefined;
  /** The id under which the operators of the service find the request. */
  readonly requestId: string | undefined;
  readonly headers: Headers;

  /** @param body the parsed body if it is JSON, otherwise its text */
  constructor(operation: string, url: string, { status, statusText, headers }: Response, body: unknown) {
    super(url, status, statusText, body);
    const { code, message } = envelopeOf(body);
    this.message = message ?? `The service answered ${status}${code === undefined ? ' without a code' : ` ${code}`}.`;
    this.operation = operation;
    this.code = code;
    this.requestId = headers.get('x-request-id') ?? undefined;
    this.headers = headers;
  }
}

/**
 * Tells whether a call was refused with one of these codes. The compiler refuses a code that the contract does not have.
 * @param error what a call threw
 */
export function isRefusal<Code extends keyof typeof ErrorCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is ApiError & { readonly code: Code } {
  return error instanceof ApiError && codes.some((code) => code === error.code);
}

function envelopeOf(body: unknown): { code?: string; message?: string } {
  const envelope = isRecord(body) && isRecord(body['error']) ? body['error'] : {};
  const { code, message } = envelope;
  return { ...(typeof code === 'string' && { code }), ...(typeof message === 'string' && { message }) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
