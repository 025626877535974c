/**
 * The connections to receivers. An idle connection is kept for the next request, which saves a handshake. It is checked when it is opened,
 * and is kept for at most 30 s. So a change of the receiver's DNS takes effect soon (DEL-7).
 */
import type { Socket } from 'node:net';
import { callbackify } from 'node:util';
import { Client, type Dispatcher } from 'undici';
import { mendResponses, type ResponseHead } from './response-head.ts';

export interface ConnectionLimits {
  /** Guards against leaks. The callers limit the attempts at the same time: 900 direct, 600 in runs, 64 local. */
  open: number;
  kept: number;
  keptPerOrigin: number;
  /** Common receivers have longer idle limits. */
  idleMs: number;
  /** A busy connection that is older is closed after its request. */
  ageMs: number;
  /** The limit of one response in bytes (docs/how-to/receive-webhooks.md). */
  headBytes: number;
  /** Interim responses (1xx) that are skipped before the final response. */
  interimResponses: number;
}

export const connectionLimits: ConnectionLimits = {
  open: 2_000,
  kept: 512,
  // The number of attempts to one host at the same time (HOOK-17). Fewer would cost a busy receiver a handshake for each request.
  keptPerOrigin: 64,
  idleMs: 2_000,
  ageMs: 30_000,
  headBytes: 65_536,
  interimResponses: 100,
};

/** A dispatcher of undici has this form, too. Handlers must have undici's current methods (`onRequestStart` …). */
export interface WebhookDispatcher {
  dispatch(
    options: Dispatcher.DispatchOptions & { origin: string; signal: AbortSignal },
    handler: Dispatcher.DispatchHandler,
  ): boolean;
}

export type OpenSocket = (origin: string, signal: AbortSignal) => Promise<Socket>;

type Request = { options: Parameters<WebhookDispatcher['dispatch']>[0]; handler: Dispatcher.DispatchHandler };

/** An undici client with at most one socket and one request at a time. */
interface Connection {
  readonly client: Client;
  readonly origin: string;
  readonly madeAt: number;
  signal: AbortSignal;
  /** Whether the socket was opened for the current request. */
  fresh: boolean;
  /** Absent until the connection has a socket. */
  responses?: ResponseHead;
}

/** A dispatcher without a queue: each request takes an idle connection or opens a new one. */
export class Connections implements WebhookDispatcher {
  readonly #open: OpenSocket;
  readonly #all = new Set<Connection>();
  /** The connection that was not used for the longest time comes first. */
  readonly #kept = new Set<Connection>();
  /** The order is as in `#kept`. An origin without kept connections has no entry. */
  readonly #keptByOrigin = new Map<string, Connection[]>();
  readonly #limits: ConnectionLimits;
  #closed = false;

  constructor(open: OpenSocket, limits = connectionLimits) {
    this.#open = open;
    this.#limits = limits;
  }

  /** @throws Error if the dispatcher is closed or all connections are in use: faults of this service, never of a receiver */
  dispatch(options: Request['options'], handler: Request['handler']): boolean {
    if (this.#closed) throw new Error('The connections to webhook receivers are closed.');
    this.#send({ options, handler }, this.#takeKept(options) ?? this.#make(options));
    return true;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#kept.clear();
    this.#keptByOrigin.clear();
    await Promise.all(Array.from(this.#all, ({ client }) => client.close()));
    this.#all.clear();
  }

  #send({ options, handler }: Request, connection: Connection): void {
    connection.responses?.begin();
    connection.client.dispatch(options, {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onResponseStart: (controller, status, headers, message) =>
        handler.onResponseStart?.(controller, status, headers, message),
      onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
      onResponseEnd: (controller, trailers) => {
        this.#keep(connection);
        handler.onResponseEnd?.(controller, trailers);
      },
      onResponseError: (controller, error) => {
        this.#drop(connection);
        // A receiver may close an idle connection just as it is used again. So the request is sent again over a new connection. Receivers
        // expect such duplicates (DEL-4).
        const isAnswered = connection.responses?.hasBegun === true;
        if (!connection.fresh && !isAnswered && !options.signal.aborted && closedByReceiver(error) && !this.#closed) {
          this.#send({ options, handler }, this.#make(options));
        } else {
          handler.onResponseError?.(controller, error);
        }
      },
    });
  }

  #make({ origin, signal }: Request['options']): Connection {
    if (this.#all.size >= this.#limits.open) this.#dropOldestKept();
    if (this.#all.size >= this.#limits.open) throw new Error(`${this.#limits.open} connections to receivers are open.`);
    const client = new Client(origin, {
      connect: (_options, callback) => {
        connection.fresh = true;
        callbackify(() => this.#open(origin, connection.signal))((error, socket) => {
          if (error) return callback(error, null);
          connection.responses = mendResponses(socket, this.#limits);
          return callback(null, socket);
        });
      },
      pipelining: 1,
      keepAliveTimeout: this.#limits.idleMs,
      keepAliveMaxTimeout: this.#limits.idleMs,
      keepAliveTimeoutThreshold: 1_000,
      maxHeaderSize: this.#limits.headBytes,
      // The attempt already has a time limit for the whole request.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const connection: Connection = { client, origin, madeAt: performance.now(), signal, fresh: true };
    client.on('disconnect', () => {
      if (this.#kept.has(connection)) this.#drop(connection);
    });
    this.#all.add(connection);
    return connection;
  }

  #takeKept({ origin, signal }: Request['options']): Connection | undefined {
    const connection = this.#keptByOrigin.get(origin)?.at(-1);
    if (!connection) return undefined;
    this.#keepNoMore(connection);
    return Object.assign(connection, { signal, fresh: false });
  }

  #keep(connection: Connection): void {
    const old = performance.now() - connection.madeAt > this.#limits.ageMs;
    const ofOrigin = this.#keptByOrigin.get(connection.origin) ?? [];
    if (this.#closed || old || ofOrigin.length >= this.#limits.keptPerOrigin) {
      this.#drop(connection);
      return;
    }
    this.#kept.add(connection);
    ofOrigin.push(connection);
    this.#keptByOrigin.set(connection.origin, ofOrigin);
    if (this.#kept.size > this.#limits.kept) this.#dropOldestKept();
  }

  #keepNoMore(connection: Connection): void {
    if (!this.#kept.delete(connection)) return;
    const ofOrigin = this.#keptByOrigin.get(connection.origin) ?? [];
    ofOrigin.splice(ofOrigin.lastIndexOf(connection), 1); // The connection is usually the last of the list.
    if (ofOrigin.length === 0) this.#keptByOrigin.delete(connection.origin);
  }

  #dropOldestKept(): void {
    const [oldest] = this.#kept;
    if (oldest) this.#drop(oldest);
  }

  #drop(connection: Connection): void {
    this.#keepNoMore(connection);
    if (this.#all.delete(connection)) void connection.client.destroy();
  }
}

const closedCodes: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE']);
/** undici has one code for a closed connection and for responses that it cannot parse. Only the former may be repeated. */
const closedMessages: ReadonlySet<string> = new Set(['other side closed', 'closed']);

function closedByReceiver(error: Error): boolean {
  return (
    'code' in error &&
    (closedCodes.has(error.code) || (error.code === 'UND_ERR_SOCKET' && closedMessages.has(error.message)))
  );
}
