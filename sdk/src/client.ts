/** The client: a typed method for each operation, with our retries, keys and errors (SDK-1 to SDK-4). */
import { OPERATIONS, type OperationId, type OperationPath, type OperationTag, type Ops } from './generated/client.ts';
import { createClient as createGeneratedClient } from './generated/runtime/factory.ts';
import { readError } from './generated/runtime/parse.ts';
import type {
  Client,
  Middleware,
  OperationContext,
  OperationDescriptor,
  RequestContext,
  SseOptions,
} from './generated/runtime/types.ts';
import { ApiError } from './errors.ts';
import { retriesOf } from './retries.ts';
import { transportOf } from './transport.ts';

export interface ClientOptions {
  /** Such as `https://api.example.com`. */
  readonly baseUrl: string;
  /** An API key, or the token of a session. A function is called for each request. */
  readonly token?: string | (() => string | Promise<string>);
  /** The time limit of one try, in milliseconds; 30 s if absent. A stream may last longer, but must not be silent for 45 s. */
  readonly timeoutMs?: number;
  /** The number of further tries after the first; 3 if absent. */
  readonly retries?: number;
  /** In milliseconds; 60 s if absent (the window of the rate limits). A longer `Retry-After` ends the call. */
  readonly maxRetryAfterMs?: number;
  /** Sends the requests; the global `fetch` if absent. */
  readonly fetch?: typeof globalThis.fetch;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A method for each operation, by its id. The first argument has the fields `path`, `query`, `headers` and `body`. */
export type ClubLearningClient = Client<Ops, OperationContext<OperationId, OperationPath, OperationTag>>;

const operations: Readonly<Record<string, OperationDescriptor>> = OPERATIONS;
const isStream = (operation: string): boolean => operations[operation]?.responseKind === 'sse';
const keyHeader = 'idempotency-key';
/** The service sends a comment every 15 s. */
const silenceMs = 45_000;

/**
 * @returns a client; its methods resolve to the parsed body
 * @throws ApiError (from the methods) if the service refuses a call; TimeoutError if no try is answered in time; the reason of the
 * signal if the caller aborts
 */
export function createClient(options: ClientOptions): ClubLearningClient {
  const { baseUrl, token, timeoutMs = 30_000, retries = 3, maxRetryAfterMs = 60_000, fetch, headers } = options;
  const keys = new AutomaticKeys();
  const client = createGeneratedClient<Ops, OperationId, OperationPath, OperationTag>(operations, {
    serverUrl: baseUrl,
    timeout: timeoutMs,
    retry: retriesOf({ retries, maxRetryAfterMs }, isStream),
    fetch: transportOf(fetch, silenceMs),
    idempotencyKey: () => keys.next(),
    middleware: [ownErrors(), { onRequest: (context) => keys.keepOnlyIfAccepted(context) }],
    ...(token !== undefined && { auth: { bearer: token } }),
    ...(headers && { headers: { ...headers } }),
  });
  return withoutRepeatedStreams(client);
}

/** Adds idempotency keys. All tries of a request send one key, and only operations that accept a key get one. */
class AutomaticKeys {
  private readonly unsent = new Set<string>();

  next(): string {
    const key = crypto.randomUUID();
    this.unsent.add(key);
    return key;
  }

  keepOnlyIfAccepted({ operation, headers }: RequestContext): void {
    const { id } = operation;
    const parameters = operations[id]?.params ?? [];
    const accepts = parameters.some((one) => one.in === 'header' && one.name.toLowerCase() === keyHeader);
    for (const [name, value] of Object.entries(headers))
      if (name.toLowerCase() === keyHeader && this.unsent.delete(value) && (!accepts || isStream(id)))
        delete headers[name];
  }
}

function ownErrors(): Middleware {
  const answers = new WeakMap<RequestContext, Response>();
  return {
    async onResponse(response, context) {
      answers.set(context, response);
      const { operation, url } = context;
      if (isStream(operation.id) && !response.ok)
        throw new ApiError(operation.id, url, response, await readError(response));
    },
    onError(error, context) {
      const answer = answers.get(context);
      return answer ? new ApiError(context.operation.id, error.url, answer, error.body) : error;
    },
  };
}

/** The generated part would repeat a stream that broke. But a question must not be asked twice: `ask()` continues it. */
function withoutRepeatedStreams(client: ClubLearningClient): ClubLearningClient {
  const methods = client as unknown as Record<string, (args?: object, init?: SseOptions) => unknown>;
  for (const id of Object.keys(operations).filter(isStream)) {
    const method = methods[id];
    if (!method) continue;
    const once = (args?: object, init?: SseOptions) => method(args, { ...init, reconnect: false });
    methods[id] = Object.assign(once, { operationId: id });
  }
  return client;
}
