/** The state of a request, which the middleware sets step by step. */
import type { ParameterizedContext } from 'koa';
import type { Logger } from 'pino';
import type { ContractOperation, Validators } from '../../contract/contract.ts';
import type { Limiter } from '../rate-limits/limiter.ts';
import type { Caller, Deps } from '../operation.ts';
import type { StreamSettings } from './event-stream.ts';

export interface RequestState {
  requestId: string;
  /** The time when the request was received. */
  now: Date;
  /** The pattern of the route, for logs and metrics, because paths can contain tokens. */
  route?: string;
  caller?: Caller;
  /** Reads the body if the operation's handler reads the body itself. @returns the bytes of the body; undefined without a body */
  readBody?: () => Promise<Buffer | undefined>;
  /** The bytes of a JSON body, as they were received. */
  bodyBytes?: Buffer;
  /** The body as a stream, if the operation accepts a file instead of JSON. */
  bodyStream?: AsyncIterable<Buffer>;
  /**
   * A handler calls this function before a student's call changes data. The function then charges the call to the club's limit. Undefined
   * if the request has no rate limit.
   */
  chargeChange?: () => Promise<void>;
  /** The error that refuses the caller. The session check creates the error, and it is thrown after the rate limit is charged. */
  refusal?: Error;
}

export type Context = ParameterizedContext<RequestState>;
export type Next = () => Promise<unknown>;
export type Middleware = (context: Context, next: Next) => Promise<unknown>;

/** The dependencies of the API itself; `deps` are the dependencies of its handlers. */
export interface ApiDeps {
  deps: Deps;
  limiter: Limiter;
  log: Logger;
  clock: () => Date;
  settings: {
    bodyLimitBytes: number;
    /**
     * The duration of a tick in milliseconds. Answers whose timing must not reveal anything are sent only at ticks. 0 means that they are
     * sent immediately.
     */
    answerTickMs: number;
    corsOrigins: readonly string[];
    trustedProxies: readonly string[];
  };
  streams: StreamSettings;
  /** Is called if a handler has begun a second transaction, although its operation should commit only once. */
  onSecondTransaction: (operationId: string) => void;
  /** Whether the process runs: false after it was asked to stop. */
  accepting: () => boolean;
}

/** An operation of the contract with its compiled checks. */
export interface BoundOperation {
  operation: ContractOperation;
  validators: Validators;
}
