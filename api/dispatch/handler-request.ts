/** Describes a checked request for its handler (`OperationRequest`). */
import type { ContractOperation } from '../../contract/contract.ts';
import { deviceLabel } from '../../domain/identity/sessions/device-label.policy.ts';
import type { Client } from '../../domain/identity/sessions/sessions.ts';
import { newId } from '../../platform/core/ids.ts';
import { noticeBounds, readJson } from '../../platform/core/json.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { ipOf } from '../middleware/client-ip.ts';
import type { ApiDeps, BoundOperation, Context } from '../middleware/context.ts';
import { idOfKey } from '../middleware/repetitions.ts';
import type { Actor, AnswerWith, Caller, OperationRequest } from '../operation.ts';
import { networkOf, unknownClient } from '../rate-limits/client-ip.policy.ts';
import { accepted, type CheckedInput } from './checked-input.ts';

interface Described {
  context: Context;
  input: CheckedInput;
  /** The database of the request, which replaces the one of the process. */
  db: Database;
  answerWith: AnswerWith;
}

/** @returns the request. Reading a caller of another kind than the contract permits throws an Error */
export function describeRequest(
  { deps, limiter, settings }: Pick<ApiDeps, 'deps' | 'limiter' | 'settings'>,
  { operation, validators }: BoundOperation,
  { context, input, db, answerWith }: Described,
): OperationRequest<never> {
  const { operationId } = operation;
  const { key, params, query, body } = input;
  const request = {
    params,
    query,
    body,
    receiveBody: async () => {
      const raw = await context.state.readBody?.();
      return {
        raw: raw ?? Buffer.alloc(0),
        parse: () => accepted(validators.body(raw === undefined ? undefined : readJson(raw, noticeBounds))),
      };
    },
    get bodyStream() {
      if (!context.state.bodyStream) throw new Error(`${operationId} accepts no file`);
      return context.state.bodyStream;
    },
    method: context.method,
    requestId: context.state.requestId,
    get network() {
      return networkOf(ipOf(context, settings.trustedProxies));
    },
    get client(): Client {
      const ip = ipOf(context, settings.trustedProxies);
      return { device: deviceLabel(context.get('user-agent')), network: ip === unknownClient ? null : networkOf(ip) };
    },
    header: (name: string) => context.get(name),
    answerWith,
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
      if (caller.kind !== 'student') throw new Error(`${operationId} is not for students alone`);
      return caller.student;
    },
    get administrator() {
      const caller = callerOf(context);
      if (caller.kind !== 'admin') throw new Error(`${operationId} is not for administrators alone`);
      const { administratorId: id, role, sessionId, provedAt, secondFactorAt, providerId, onlyClubId } = caller;
      return { id, role, session: { id: sessionId, provedAt, secondFactorAt, providerId, onlyClubId } };
    },
    get actor() {
      return actorOf(callerOf(context), operation);
    },
  };
  // The validators have just checked the request, so its run-time values can be cast to the contract's types. No other code casts them.
  return request as unknown as OperationRequest<never>;
}

/** @throws Error for an operation without a session */
export function callerOf(context: Context): Caller {
  if (!context.state.caller) throw new Error('The contract requires no session for this operation');
  return context.state.caller;
}

function actorOf(caller: Caller, { operationId }: ContractOperation): Actor {
  if (caller.kind === 'key') return { kind: 'key', id: caller.keyId };
  if (caller.kind === 'student' || caller.role === null)
    throw new Error(`${operationId} is not for administrators alone`);
  return { kind: 'administrator', id: caller.administratorId, role: caller.role };
}
