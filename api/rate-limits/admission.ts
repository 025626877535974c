/** Decides to which counter a call is charged, and refuses the call when the counter is used up (LIM-15, ERR-18). */
import { addressesCounted } from './client-ip.policy.ts';
import { CountersUnavailable, type Limiter, type Verdict } from './limiter.ts';
import { sharedBudget, type SpenderKind } from './shared-budgets.policy.ts';
import { secondsUntilWindow, windowAt } from './windows.policy.ts';
import {
  archiveRequests,
  clubWrites,
  keysShareOfClub,
  libraryUploadCreations,
  erasureProofs,
  previewPages,
  refusedCalls,
  ruleFor,
  sessionLinksCounter,
  sessionLinksOfStudent,
  studentsShareOfClub,
  studentWritesOfClub,
  uploadCreations,
  type Budget,
  type Rule,
} from './rules.policy.ts';
import { RefusalToPerson, minutesOf } from '../../domain/language/refusal.ts';
import type { DomainError } from '../../platform/core/errors.ts';

type Charging = Pick<Limiter, 'charge' | 'chargeShared' | 'chargeHere'>;

/** A call after the checks of session and membership, before the body is read. */
export interface Call {
  readonly method: string;
  /** The router matches this path: percent-encoded, without origin, query and fragment. */
  readonly path: string;
  /** {@link file://./client-ip.policy.ts} clientIp. */
  readonly ip: string;
  /** Undefined without a session or key, or if the operation needs none. */
  readonly caller: { readonly kind: 'student' | 'admin' | 'key'; readonly id: string } | undefined;
  /** A token in the path names the student, if the operation needs no session (CAMP-5). */
  readonly studentOfToken?: string | undefined;
  /** The student in the path, if any. */
  readonly studentId?: string | undefined;
  /** The club in the path. Callers outside the club have `refused`, so their calls never charge the club. */
  readonly clubId: string | undefined;
  /** The session is not valid (401), or does not belong to the club (403). */
  readonly refused: boolean;
}

/**
 * Reads are not charged.
 *
 * - A rule "per IP" charges the address, with or without a session.
 * - A rule per club charges the administrator and the club. Each administrator has a share that other administrators cannot use up
 * (LIM-24).
 * - A rule per club, per student or per administrator applies only if session and membership are valid. Otherwise the call is charged to a
 * separate counter of the client's address. When this counter of the address is used up, the call gets 429 instead of 401 or 403. So an
 * outsider cannot use up a club's budget, and cannot guess sessions without limit.
 * - An administrator on a classroom path uses the club write limit.
 * - A student on a path of the club is charged as a student; {@link admitChange} charges the club.
 *
 * A session link is charged to its student first (ENTRY-5). An API key is charged as an administrator. All keys of a club share a part of its budget (KEY-5).
 *
 * @param now Unix milliseconds
 * @param onBudget gets the state of the budget that an API key has used, also if the call is refused
 * @throws DomainError `rate_limited` with the seconds to wait; `rate_limit_unavailable`, when the counters are down and the route signs
 * students up or in. Administrators then have a small limit in each process (DEC-29), and every other call passes.
 */
export async function admit(
  limiter: Charging,
  call: Call,
  now: number,
  onBudget: (state: BudgetState) => void = () => {},
): Promise<void> {
  const rule = ruleFor(call);
  if (rule === undefined) return;
  // If a narrow network is above its limit, the wider network is not charged, because other subscribers share it.
  for (const one of chargesOf(rule, call)) await charge(limiter, one, now, onBudget);
}

/** The headers `RateLimit` and `RateLimit-Policy` show this state. */
export interface BudgetState extends Pick<Budget, 'counter' | 'limit' | 'windowSeconds'> {
  /** In this window. */
  readonly remaining: number;
  /** The seconds until the next window. */
  readonly resetSeconds: number;
}

/**
 * Charges the club for a student's call, directly before the call changes data. So a student's call without an effect cannot block the
 * administrators' writes (DEC-53). Other calls are already charged by {@link admit}.
 *
 * @param now Unix milliseconds
 * @throws DomainError `rate_limited` with the seconds to wait
 */
export async function admitChange(limiter: Charging, call: Call, now: number): Promise<void> {
  const { clubId, caller } = call;
  if (call.refused || clubId === undefined || caller === undefined || !isStudentOnClubPath(ruleFor(call), call)) return;
  await charge(
    limiter,
    { rule: clubWrites, subject: clubOf(clubId), sharedBy: caller, narrower: [studentsShareOfClub] },
    now,
  );
}

/**
 * LIM-22.
 * @param file its owner is a student, or the club, and the club's files share one limit
 * @param now Unix milliseconds
 * @throws DomainError `rate_limited` with the seconds to wait
 */
export async function admitUpload(
  limiter: Charging,
  file: { readonly id: string; readonly clubId: string; readonly ownerId: string | null },
  now: number,
): Promise<void> {
  const ofRule = (budget: Budget): Rule => ({ ...clubWrites, ...budget, name: 'Beginnings of uploads' });
  const { id, clubId, ownerId } = file;
  const sharedBy = { kind: 'file', id } as const; // the file is the caller, because the token does not name the person
  const charged: Charge =
    ownerId !== null
      ? { rule: ofRule(uploadCreations), subject: ownerId }
      : { rule: ofRule(libraryUploadCreations), subject: clubId, sharedBy };
  await charge(limiter, charged, now);
}

/** LIM-23. @param now Unix milliseconds @throws DomainError `rate_limited` */
export async function admitDownload(limiter: Charging, studentId: string, now: number): Promise<void> {
  const rule: Rule = { ...clubWrites, ...archiveRequests, name: 'Requests for archives' };
  await charge(limiter, { rule, subject: studentId }, now);
}

/** Charges the call to the caller's address (LIM-29). @param now Unix milliseconds @throws DomainError `rate_limited` */
export async function admitPreview(limiter: Charging, ip: string, now: number): Promise<void> {
  const rule: Rule = { ...clubWrites, ...previewPages, name: 'Pages of previews' };
  for (const one of ofAddress(rule, ip)) await charge(limiter, one, now);
}

/** Charges the call to the caller's address (ERS-32). @param now Unix milliseconds @throws DomainError `rate_limited` */
export async function admitErasureProof(limiter: Charging, ip: string, now: number): Promise<void> {
  const rule: Rule = { ...clubWrites, ...erasureProofs, name: 'Certificates of erasure', whenDown: 'local' };
  for (const one of ofAddress(rule, ip)) await charge(limiter, one, now);
}

/** Charges the call to the caller's address. @param now Unix milliseconds @throws DomainError `rate_limited` */
export async function admitRefused(limiter: Charging, ip: string, now: number): Promise<void> {
  for (const one of ofAddress(refusedCalls, ip)) await charge(limiter, one, now);
}

async function charge(
  limiter: Charging,
  charged: Charge,
  now: number,
  onBudget: (state: BudgetState) => void = () => {},
): Promise<void> {
  const verdict = await verdictOf(limiter, charged, now);
  const state = stateAfter(verdict, charged, now);
  if (state) onBudget(state);
  if (!verdict.allowed) throw tooMany(charged, verdict.retryAfterSeconds);
}

/** @returns the state of a budget that API keys share; undefined for other budgets, or if the counter was not read */
function stateAfter(
  verdict: Verdict,
  { rule, sharedBy, narrower, ofKey = false }: Charge,
  now: number,
): BudgetState | undefined {
  const { counter, windowSeconds } = rule;
  if (ofKey && !verdict.allowed)
    return { counter, limit: rule.limit, windowSeconds, remaining: 0, resetSeconds: verdict.retryAfterSeconds };
  if (sharedBy?.kind !== 'key') return undefined;
  const { own, pools } = sharedBudget(rule, sharedBy.kind, narrower);
  const limit = Math.min(own.limit, ...pools.map((pool) => pool.limit));
  const budget = { counter, limit, windowSeconds };
  if (!verdict.allowed) return { ...budget, remaining: 0, resetSeconds: verdict.retryAfterSeconds };
  if (verdict.remaining === undefined) return undefined;
  const resetSeconds = secondsUntilWindow(windowAt(now, windowSeconds) + 1, windowSeconds, now);
  return { ...budget, remaining: verdict.remaining, resetSeconds };
}

interface Charge {
  readonly rule: Rule;
  readonly subject: string;
  /** Set if the callers of one club share the budget. */
  readonly sharedBy?: { readonly kind: SpenderKind; readonly id: string };
  /** An API key called, although the budget belongs to another subject. The key then sees a used-up budget. */
  readonly ofKey?: boolean;
  /** Smaller budgets of this kind of caller, for example of all students. They are charged before the club's budget. */
  readonly narrower?: readonly Budget[];
}

function isStudentOnClubPath(rule: Rule | undefined, { caller }: Call): boolean {
  return rule?.counter === clubWrites.counter && caller?.kind === 'student';
}

/** Upper and lower case must charge one counter. */
const clubOf = (clubId: string) => clubId.toLowerCase();

function chargesOf(rule: Rule, call: Call): readonly Charge[] {
  const { ip, caller, clubId, refused, studentOfToken } = call;
  if (rule.scope === 'ip') return ofAddress(rule, ip);
  if (rule.scope === 'student' && studentOfToken !== undefined) return [{ rule, subject: studentOfToken }];
  if (refused || caller === undefined) return ofAddress(refusedCalls, ip);
  if (rule.scope === 'student' && caller.kind === 'student') return [{ rule, subject: caller.id }];
  if (rule.scope === 'administrator' && caller.kind === 'admin') return [{ rule, subject: caller.id }];
  if (clubId === undefined) return ofAddress(refusedCalls, ip);
  if (isStudentOnClubPath(rule, call)) return [{ rule: studentWritesOfClub, subject: caller.id }];
  const ofClub = rule.scope === 'club' ? rule : clubWrites;
  const narrower = caller.kind === 'key' && ofClub.counter === clubWrites.counter ? [keysShareOfClub] : [];
  return [
    ...(rule.counter === sessionLinksCounter ? ofLinkedStudent(rule, call, clubId) : []),
    { rule: ofClub, subject: clubOf(clubId), sharedBy: caller, narrower },
  ];
}

/** The subject names the club, too. So a club that guesses ids uses up nothing of another club's students. */
function ofLinkedStudent(rule: Rule, { caller, studentId }: Call, clubId: string): readonly Charge[] {
  if (studentId === undefined) return [];
  const subject = `${clubOf(clubId)} ${studentId.toLowerCase()}`;
  return [{ rule: { ...rule, ...sessionLinksOfStudent }, subject, ofKey: caller?.kind === 'key' }];
}

function ofAddress(rule: Rule, ip: string): readonly Charge[] {
  return addressesCounted(ip).map(({ subject, times }) => ({ rule: { ...rule, limit: rule.limit * times }, subject }));
}

async function verdictOf(limiter: Charging, charged: Charge, now: number): Promise<Verdict> {
  const { rule, subject, sharedBy, narrower } = charged;
  try {
    if (!sharedBy) return await limiter.charge(rule, subject, now);
    const shared = sharedBudget(rule, sharedBy.kind, narrower);
    return await limiter.chargeShared(shared, { club: subject, caller: sharedBy.id }, now);
  } catch (error) {
    if (!(error instanceof CountersUnavailable)) throw error;
    if (rule.whenDown === 'pass') return { allowed: true };
    if (rule.whenDown === 'local') return limiter.chargeHere(subject, now);
    throw new RefusalToPerson('rate_limit_unavailable', 'refusal.busy', {
      technical: 'The rate limit cannot be checked at the moment; try again shortly.',
    });
  }
}

const countedFor = {
  club: 'club',
  student: 'student',
  administrator: 'administrator',
  file: 'file',
  key: 'API key',
  account: 'account',
  ip: 'IP address',
} as const;

function tooMany({ rule, sharedBy, narrower }: Charge, retryAfterSeconds: number): DomainError {
  const { name, limit, windowSeconds, scope } = rule;
  let allowance = `${limit} in ${windowSeconds} seconds for each ${countedFor[scope]}`;
  if (sharedBy) {
    const { own, share } = sharedBudget(rule, sharedBy.kind, narrower);
    allowance += `, and for each ${countedFor[own.scope]} ${own.limit}, and ${share} of them are reserved`;
  }
  return new RefusalToPerson(
    'rate_limited',
    ({ say }) => say('refusal.rate_limited', { minutes: minutesOf(retryAfterSeconds) }),
    { technical: `${name}: ${allowance}. Retry after ${retryAfterSeconds} seconds.`, retryAfterSeconds },
  );
}
