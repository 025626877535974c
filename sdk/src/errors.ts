/** The error of a refused call (SDK-2). */
import type { ErrorCode } from './generated/client.schemas.ts';
import { ApiError as GeneratedError } from './generated/runtime/errors.ts';

/** The service refused the call. */
export class ApiError extends GeneratedError {
  /** Such as `createStudent`. */
  readonly operation: string;
  /** undefined if the answer is not from the service, for example from a proxy. */
  readonly code: ErrorCode | undefined;
  /** The operators of the service find the request by this id. */
  readonly requestId: string | undefined;
  readonly headers: Headers;

  /** @param body parsed if it is JSON, otherwise text */
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
 * The compiler refuses a code that the contract does not have.
 * @param error the thrown error
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
