/** The last step: checks the request against the contract, calls the handler, and answers with its result. */
import {
  Binary,
  EventStream,
  keyHeader,
  Redirect,
  type Checked,
  type ContractOperation,
} from '../../contract/contract.ts';
import type { AnswerFinder } from '../../domain/idempotency/repetitions.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { noticeBounds, readJson } from '../../platform/core/json.ts';
import { newId } from '../../platform/core/ids.ts';
import { OpeningDatabase } from '../../platform/infra/postgres/opening-database.ts';
import { RequestDatabase } from '../../platform/infra/postgres/request-database.ts';
import { inSpan } from '../../platform/infra/tracing.ts';
import type { StreamAccess } from '../open-streams.ts';
import type { Actor, Caller, OperationRequest } from '../operation.ts';
import { networkOf, unknownClient } from '../rate-limits/client-ip.policy.ts';
import { ipOf } from './client-ip.ts';
import type { ApiDeps, BoundOperation, Context, Middleware } from './context.ts';
import { auditOf, isAuditedRead } from './audit.ts';
import { commitsOnce } from './commits.ts';
import { answerWithEvents } from './event-stream.ts';
import { clubNamedBy } from './session.ts';
import { answerAgain, idOfKey, readKey, repetitionsOf, type Repetition } from './repetitions.ts';
import { positioned } from './list-position.ts';

/** A handler of any operation. The compiler does not know which operation it is, because the contract is read at run time. */
export type AnyOperation = (request: OperationRequest<never>) => Promise<unknown>;

export function dispatch(
  { deps, limiter, streams, settings, onSecondTransaction }: ApiDeps,
  { operation, validators }: BoundOperation,
  handler: AnyOperation,
  findAnswer: AnswerFinder,
): Middleware {
  const describeRepetition = repetitionsOf({ deps }, findAnswer, operation);
  return async (context) => {
    const { params, query } = context as Context & { params: Record<string, string> };
    const { body } = context.request as Context['request'] & { body: unknown };
    const key = operation.idempotency && readKey(context.req.headersDistinct[keyHeader.toLowerCase()]);
    const checkedParams = {
      ...accepted(validators.params(params)),
      ...(params['clubId'] && { clubId: params['clubId'].toLowerCase() }),
    };
    const checkedQuery = positioned(deps.vault, operation, {
      params: checkedParams,
      query: accepted(validators.query(query)),
      namesPage: query['page'] !== undefined,
      caller: context.state.caller,
    });
    let repetition: Repetition | undefined;
    const checkedBody = operation.readsBodyLate ? undefined : accepted(validators.body(body));
    const audit = auditOf(operation, {
      caller: context.state.caller,
      params: checkedParams,
      body: checkedBody,
      requestId: context.state.requestId,
      network: networkOf(ipOf(context, settings.trustedProxies)),
      now: context.state.now,
    });
    const transaction = commitsOnce(operation)
      ? new RequestDatabase(deps.db, async (tx) => repetition?.claim(tx))
      : undefined;
    const db = transaction ?? (audit && operation.method !== 'get' ? new OpeningDatabase(deps.db, audit) : deps.db);
    const answerHeaders: Record<string, string> = {};
    const request = {
      params: checkedParams,
      query: checkedQuery,
      body: checkedBody,
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
      answerWith(name: string, value: string) {
        answerHeaders[name] = value;
        context.set(name, value);
      },
      db,
      deps: db === deps.db ? deps : { ...deps, db },
      now: context.state.now,
      newId: () => (key === undefined ? newId() : idOfKey(callerOf(context), key)),
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
      get actor() {
        return actorOf(callerOf(context), operation.operationId);
      },
    };
    // The validators have just checked the request, so its run-time values can be cast to the contract's types. No other code casts them.
    const handle = () =>
      inSpan(operation.operationId, {}, async () => {
        const answer = await handler(request as unknown as OperationRequest<never>);
        const committedAnswer = { status: operation.successStatus, headers: answerHeaders, body: answer };
        if (transaction?.isOpen) await transaction.atEnd(async (tx) => audit?.(tx, answer));
        if (isAuditedRead(operation)) await audit?.(deps.db);
        if (repetition) await transaction?.atEnd(repetition.keep(committedAnswer));
        await transaction?.commit();
        return answer;
      });
    repetition =
      key === undefined
        ? undefined
        : describeRepetition?.({
            key,
            caller: callerOf(context),
            params: checkedParams,
            querystring: context.querystring,
            body: context.state.bodyBytes,
            now: context.state.now,
          });
    const earlier = await repetition?.find();
    if (earlier) return answerAgain(context, earlier);
    const isStream = operation.contentTypes.includes('text/event-stream');
    // The permit for the stream is taken before any work. So the service never accepts a question if it cannot stream the answer.
    const permit = isStream ? streams.open.take(callerOf(context), accessOf(context, operation, settings)) : undefined;
    let answer: unknown;
    try {
      answer = await handle();
    } catch (error) {
      permit?.release();
      await transaction?.rollback();
      const committedMeanwhile = await repetition?.findAfter(error);
      if (!committedMeanwhile) throw error;
      return answerAgain(context, committedMeanwhile);
    }
    if (transaction && transaction.transactions > 1) onSecondTransaction(operation.operationId);
    context.status = operation.successStatus;
    if (typeof answer === 'string') context.type = 'json'; // a text answer is already JSON
    if (answer instanceof Binary) answerWithFile(context, answer);
    else if (answer instanceof Redirect) leadTo(context, answer);
    else if (answer instanceof EventStream && permit) answerWithEvents(context, answer, permit, streams);
    else if (answer !== undefined) context.body = answer;
  };
}

/** @returns the rights that the caller needs as long as the stream is open */
function accessOf(context: Context, { roles, scope }: ContractOperation, settings: ApiDeps['settings']): StreamAccess {
  const ip = ipOf(context, settings.trustedProxies);
  return {
    clubId: clubNamedBy(context),
    roles,
    scope,
    ip: ip === unknownClient ? null : ip,
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

function actorOf(caller: Caller, operationId: string): Actor {
  if (caller.kind === 'key') return { kind: 'key', id: caller.keyId };
  if (caller.kind === 'student' || caller.role === null)
    throw new Error(`${operationId} is not for administrators alone`);
  return { kind: 'administrator', id: caller.administratorId, role: caller.role };
}

/** @throws DomainError malformed_request (400) or invalid_request (422), which name the field */
function accepted<T>(checked: Checked<T>): T {
  if ('value' in checked) return checked.value;
  const { kind, message } = checked.problem;
  throw new DomainError(kind === 'malformed' ? 'malformed_request' : 'invalid_request', message);
}
