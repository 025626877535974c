/** The last step: checks the request against the contract, calls the handler, and answers with its result. */
import { Binary, EventStream, Redirect, type Checked } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { noticeBounds, readJson } from '../../platform/core/json.ts';
import { RequestDatabase } from '../../platform/infra/postgres/request-database.ts';
import { inSpan } from '../../platform/infra/tracing.ts';
import type { OperationRequest } from '../operation.ts';
import { networkOf } from '../rate-limits/client-ip.policy.ts';
import { ipOf } from './client-ip.ts';
import type { ApiDeps, BoundOperation, Context, Middleware } from './context.ts';
import { commitsOnce } from './commits.ts';
import { answerWithEvents } from './event-stream.ts';

/** A handler of any operation. The compiler does not know which operation it is, because the contract is read at run time. */
export type AnyOperation = (request: OperationRequest<never>) => Promise<unknown>;

export function dispatch(
  { deps, limiter, streams, settings, onSecondTransaction }: ApiDeps,
  { operation, validators }: BoundOperation,
  handler: AnyOperation,
): Middleware {
  return async (context) => {
    const { params, query } = context as Context & { params: Record<string, string> };
    const { body } = context.request as Context['request'] & { body: unknown };
    const transaction = commitsOnce(operation) ? new RequestDatabase(deps.db) : undefined;
    const request = {
      params: {
        ...accepted(validators.params(params)),
        ...(params['clubId'] && { clubId: params['clubId'].toLowerCase() }),
      },
      query: accepted(validators.query(query)),
      body: operation.readsBodyLate ? undefined : accepted(validators.body(body)),
      receiveBody: async () => {
        const raw = await context.state.readBody?.();
        return {
          raw: raw ?? Buffer.alloc(0),
          parse: () => accepted(validators.body(raw === undefined ? undefined : readJson(raw, noticeBounds))),
        };
      },
      get bodyStream() {
        if (!context.state.bodyStream) throw new Error(`${operation.operationId} accepts no file`);
        return context.state.bodyStream;
      },
      method: context.method,
      get network() {
        return networkOf(ipOf(context, settings.trustedProxies));
      },
      header: (name: string) => context.get(name),
      answerWith: (name: string, value: string) => context.set(name, value),
      db: transaction ?? deps.db,
      deps: transaction ? { ...deps, db: transaction } : deps,
      now: context.state.now,
      limiter,
      get ip() {
        return ipOf(context, settings.trustedProxies);
      },
      chargeChange: async () => context.state.chargeChange?.(),
      get caller() {
        return callerOf(context);
      },
      get student() {
        const caller = callerOf(context);
        if (caller.kind !== 'student') throw new Error(`${operation.operationId} is not for students alone`);
        return caller.student;
      },
      get administrator() {
        const caller = callerOf(context);
        if (caller.kind !== 'admin') throw new Error(`${operation.operationId} is not for administrators alone`);
        return { id: caller.administratorId, role: caller.role };
      },
    };
    // The validators have just checked the request, so its run-time values can be cast to the contract's types. No other code casts them.
    const handle = () =>
      inSpan(operation.operationId, {}, async () => {
        const answer = await handler(request as unknown as OperationRequest<never>);
        await transaction?.commit();
        return answer;
      });
    const isStream = operation.contentTypes.includes('text/event-stream');
    // The permit for the stream is taken before any work. So the service never accepts a question if it cannot stream the answer.
    const permit = isStream ? streams.open.take(callerOf(context), (params['clubId'] ?? '').toLowerCase()) : undefined;
    const answer = await handle().catch(async (error: unknown) => {
      permit?.release();
      await transaction?.rollback();
      throw error;
    });
    if (transaction && transaction.transactions > 1) onSecondTransaction(operation.operationId);
    context.status = operation.successStatus;
    if (typeof answer === 'string') context.type = 'json'; // a text answer is already JSON
    if (answer instanceof Binary) answerWithFile(context, answer);
    else if (answer instanceof Redirect) leadTo(context, answer);
    else if (answer instanceof EventStream && permit) answerWithEvents(context, answer, permit, streams);
    else if (answer !== undefined) context.body = answer;
  };
}

/** The browser shows the file, and saves it under this name. */
function answerWithFile(context: Context, { type, bytes, fileName }: Binary): void {
  context.attachment(fileName, { type: 'inline' });
  context.type = type;
  context.body = bytes;
}

/** The redirect has no body, because callers follow it to its target. */
function leadTo(context: Context, { location }: Redirect): void {
  context.set('Location', location);
  context.body = null;
  context.status = 302; // set again, because the null body has set the status 204
}

function callerOf(context: Context) {
  if (!context.state.caller) throw new Error('The contract requires no session for this operation');
  return context.state.caller;
}

/** @throws DomainError malformed_request (400) or invalid_request (422), which name the field */
function accepted<T>(checked: Checked<T>): T {
  if ('value' in checked) return checked.value;
  const { kind, message } = checked.problem;
  throw new DomainError(kind === 'malformed' ? 'malformed_request' : 'invalid_request', message);
}
