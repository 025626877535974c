/** What the middleware knows of a request, filled in from check to check. */
import type { ParameterizedContext } from 'koa';
import type { Logger } from 'pino';
import type { ContractOperation, Validators } from '../../contract/contract.ts';
import type { Limiter } from '../rate-limits/limiter.ts';
import type { Caller, Deps } from '../operation.ts';
import type { StreamSettings } from './event-stream.ts';

export interface RequestState {
  requestId: string;
  /** When the request was received. */
  now: Date;
  /** The route's pattern, for logs and metrics: paths themselves can carry tokens. */
  route?: string;
  caller?: Caller;
  /** Reads the body, of an operation whose handler does so itself. @returns its bytes; undefined where none was sent */
  readBody?: () => Promise<Buffer | undefined>;
  /** The body as it arrives, of an operation that takes no JSON. */
  bodyStream?: AsyncIterable<Buffer>;
  /** Charges the club for what a student's call is about to change; set where the call was charged. */
  chargeChange?: () => Promise<void>;
  /** Why the caller is refused, decided before the rate limit is charged and thrown after it. */
  refusal?: Error;
}

export type Context = ParameterizedContext<RequestState>;
export type Next = () => Promise<unknown>;
export type Middleware = (context: Context, next: Next) => Promise<unknown>;

/** The dependencies of the API itself; `deps` are those of its handlers. */
export interface ApiDeps {
  deps: Deps;
  limiter: Limiter;
  log: Logger;
  clock: () => Date;
  settings: {
    bodyLimitBytes: number;
    /** Answers that must not tell by their time leave at multiples of this, in milliseconds; 0: at once. */
    answerTickMs: number;
    corsOrigins: readonly string[];
    trustedProxies: readonly string[];
  };
  streams: StreamSettings;
  /** False from the moment that the process is asked to stop. */
  accepting: () => boolean;
}

/** An operation of the contract with its compiled checks. */
export interface BoundOperation {
  operation: ContractOperation;
  validators: Validators;
}
