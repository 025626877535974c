/** The state of a request, which the middleware sets step by step. */
import type { ParameterizedContext } from 'koa';
import type { Logger } from 'pino';
import type { ContractOperation, Validators } from '../../contract/contract.ts';
import type { Limiter } from '../rate-limits/limiter.ts';
import type { Caller, Deps } from '../operation.ts';
import type { StreamSettings } from './event-stream.ts';

export interface RequestState {
  requestId: string;
  now: Date;
  /** Logs and metrics use the route, because paths can contain tokens. */
  route?: string;
  caller?: Caller;
  /** Some handlers read the body themselves, with this function. @returns undefined without a body */
  readBody?: () => Promise<Buffer | undefined>;
  /** The received bytes. */
  bodyBytes?: Buffer;
  /** Set if the operation accepts a file instead of JSON. */
  bodyStream?: AsyncIterable<Buffer>;
  /** The handler calls this before a student's call changes data: it charges the club's limit. Undefined without a rate limit. */
  chargeChange?: () => Promise<void>;
  /** The session check sets this error. It is thrown after the rate limit is charged. */
  refusal?: Error;
}

export type Context = ParameterizedContext<RequestState>;
export type Next = () => Promise<unknown>;
export type Middleware = (context: Context, next: Next) => Promise<unknown>;

/** `deps` are the dependencies of the handlers. */
export interface ApiDeps {
  deps: Deps;
  limiter: Limiter;
  log: Logger;
  clock: () => Date;
  settings: {
    bodyLimitBytes: number;
    /** In milliseconds. Answers whose time must not reveal anything wait for the next tick. 0: no wait. */
    answerTickMs: number;
    corsOrigins: readonly string[];
    trustedProxies: readonly string[];
  };
  streams: StreamSettings;
  /** Called when an operation that should commit once begins a second transaction. */
  onSecondTransaction: (operationId: string) => void;
  /** False after the process was asked to stop. */
  accepting: () => boolean;
}

export interface BoundOperation {
  operation: ContractOperation;
  validators: Validators;
}
