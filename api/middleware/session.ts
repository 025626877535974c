/**
 * Finds the caller by the bearer token, in the stores that the operation's `security` names (AUTH-4, DEC-9). API keys are accepted if the
 * operation has a scope (KEY-4).
 */
import type { ContractOperation } from '../../contract/contract.ts';
import { anyScope } from '../../contract/rules/scopes.ts';
import type { FreshFactor } from '../../contract/rules/fresh-factor.ts';
import { clubExists } from '../../domain/clubs/organizations.ts';
import { readHasSecondFactor } from '../../domain/identity/accounts/administrator-accounts.ts';
import { freshFactorRequired, isFresh, refusalByRules } from '../../domain/identity/sessions/sign-in-rules.policy.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { forClub } from '../../platform/infra/postgres/shared-pool.ts';
import type { Caller } from '../operation.ts';
import { unknownClient } from '../rate-limits/client-ip.policy.ts';
import { ipOf } from './client-ip.ts';
import type { ApiDeps, Context, Middleware } from './context.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const unauthenticated = () =>
  new DomainError('unauthenticated', 'A session or an API key is required: it is missing, has expired or was ended.');

/** A foreign club and a missing club get one answer, so a caller cannot find out which clubs exist. */
const forbidden = () => new DomainError('forbidden', 'This session or API key does not act in this organization.');

/** Only records a refusal, so that the rate limit can charge the call to a separate counter. Then {@link requireCaller} throws it. */
export function findCaller(api: ApiDeps, operation: ContractOperation): Middleware {
  return async (context, next) => {
    const clubId = clubOf(operation, context);
    if (operation.auth.length > 0) {
      const caller = await callerOf(context, operation, clubId, api);
      if (!caller) context.state.refusal = unauthenticated();
      else if (clubId !== undefined && !actsIn(caller, clubId)) context.state.refusal = forbidden();
      if (caller) context.state.caller = caller;
    }
    return next();
  };
}

/** The request's Postgres connections count toward the share of the club in its path (ENG-17). */
export const countAsClub: Middleware = async (context, next) => forClub(clubIdOf(context), next);

/**
 * Counts the database connection of the request for the club that its body names, if the path names none. All requests that have only a
 * token share one limit, because a confirmation can keep its connection while it waits for a lock.
 */
export const countAsClubOfBody: Middleware = async (context, next) => {
  const { body } = context.request as unknown as { body?: { club_id?: unknown } };
  return forClub(clubIdFrom(body?.club_id), next);
};

/** Throws what {@link findCaller} recorded. */
export const requireCaller: Middleware = async (context, next) => {
  if (context.state.refusal) throw context.state.refusal;
  return next();
};

/**
 * Checks operations without a session. The rate limit is charged before this check, so it needs no query and works while Postgres is down.
 * @throws DomainError forbidden
 */
export function requireClub({ deps }: ApiDeps): Middleware {
  return async (context, next) => {
    if (!(await clubExists(deps.db, clubIdOf(context)))) throw forbidden();
    return next();
  };
}

/** @throws DomainError role_not_permitted for a member with a role that the contract does not list */
export function requireRole({ roles }: ContractOperation): Middleware {
  return async (context, next) => {
    const { caller } = context.state;
    if (roles && caller?.kind === 'admin' && !(caller.role !== null && roles.includes(caller.role))) {
      const needed =
        roles.length === 0 ? 'Only API keys may call this.' : `This needs one of the roles ${roles.join(', ')}.`;
      throw new DomainError('role_not_permitted', needed);
    }
    return next();
  };
}

const rulesNotMet = {
  club_requires_second_factor:
    'This club requires a second factor. Add one to your account, or show it in this session.',
  club_requires_provider: 'This club requires you to sign in with its identity provider.',
} as const;

/** @throws DomainError club_requires_second_factor, club_requires_provider, for a member whose sign-in does not suffice for the club (FAC-1) */
export const requireSignInOfClub: Middleware = async (context, next) => {
  const { caller } = context.state;
  if (caller?.kind !== 'admin' || caller.role === null) return next();
  const code = refusalByRules(caller.required, caller, caller.role);
  if (code !== undefined) throw new DomainError(code, rulesNotMet[code]);
  return next();
};

/** @throws DomainError provider_session_limited, outside a club's path, for a session that acts only in one club (OIDC-7) */
export const refuseLimitedSession: Middleware = async (context, next) => {
  const { caller } = context.state;
  if (caller?.kind === 'admin' && caller.onlyClubId !== null)
    throw new DomainError(
      'provider_session_limited',
      'The identity provider of a club opened this session, so it acts only in that club.',
    );
  return next();
};

/** @throws DomainError fresh_factor_required for an administrator without a fresh factor (FAC-2) */
export function requireFreshFactor({ deps }: ApiDeps, needed: FreshFactor): Middleware {
  return async (context, next) => {
    const { caller, now } = context.state;
    if (caller?.kind !== 'admin') return next();
    const hasSecondFactor = await readHasSecondFactor(deps.db, caller.administratorId);
    if (needed === 'if_enrolled' && !hasSecondFactor) return next();
    if (!isFresh(caller, hasSecondFactor, now)) throw freshFactorRequired();
    return next();
  };
}

/** @throws DomainError scope_not_granted for an API key without the scope of the operation */
export function requireScope({ scope }: ContractOperation): Middleware {
  return async (context, next) => {
    const { caller } = context.state;
    if (scope === anyScope) return next();
    if (caller?.kind === 'key' && !(scope !== undefined && (caller.scopes as readonly string[]).includes(scope)))
      throw new DomainError('scope_not_granted', `The API key needs the scope ${scope}.`);
    return next();
  };
}

/** No club has this id, so the lookup runs as usual and finds no caller. */
const noSuchClub = '00000000-0000-0000-0000-000000000000';

function clubOf(operation: ContractOperation, context: Context): string | undefined {
  return operation.pathParameters.includes('clubId') ? clubIdOf(context) : undefined;
}

function clubIdOf(context: Context): string {
  return clubIdFrom((context as Context & { params: Record<string, string> }).params['clubId']);
}

/** @returns the club's id, from the path or the body, or {@link noSuchClub} */
export function clubNamedBy(context: Context): string {
  const { params } = context as Context & { params?: Record<string, string> };
  const { body } = context.request as unknown as { body?: { club_id?: unknown } | null };
  return clubIdFrom(params?.['clubId'] ?? body?.club_id);
}

function clubIdFrom(value: unknown): string {
  return typeof value === 'string' && uuid.test(value) ? value.toLowerCase() : noSuchClub;
}

async function callerOf(
  context: Context,
  { auth, scope }: ContractOperation,
  clubId: string | undefined,
  { deps: { sessions, keys }, settings }: ApiDeps,
): Promise<Caller | undefined> {
  const [, token] = /^Bearer +([\w-]{1,128})$/i.exec(context.get('authorization')) ?? [];
  if (token === undefined) return undefined;
  const { now } = context.state;
  if (token.startsWith('clk_')) {
    if (scope === undefined) return undefined;
    const ip = ipOf(context, settings.trustedProxies);
    const key = await keys.find(token, ip === unknownClient ? null : ip, now);
    return key && { kind: 'key', token, keyId: key.id, clubId: key.clubId, scopes: key.scopes };
  }
  if (auth.includes('student')) {
    const student = await sessions.student(token, now);
    if (student) return { kind: 'student', token, student };
  }
  if (auth.includes('admin')) {
    const session = await sessions.administrator(token, clubId, now);
    if (session) return { kind: 'admin', token, ...session };
  }
  return undefined;
}

function actsIn(caller: Caller, clubId: string): boolean {
  if (caller.kind === 'admin') return caller.role !== null;
  return clubId === (caller.kind === 'student' ? caller.student.clubId : caller.clubId);
}
