/** The rules that every answer must satisfy: one function for each rule, and a list of all rules. */
import type { ContractOperation } from '../../../contract/contract.ts';
import { isObject } from '../../../contract/openapi.ts';
import { anyScope } from '../../../contract/rules/scopes.ts';
import { errorStatus, type ErrorCode } from '../../../platform/core/error-codes.ts';
import { operationOf } from '../../toolkit/drive/every-operation.ts';
import type { ClubName, Pool } from './requests/pool.ts';
import { isRecord, type Json } from './requests/step.ts';
import type { Caller } from './world/callers.ts';
import type { Exchange } from './world/world.ts';

export interface Broken {
  readonly rule: string;
  /** Describes how the answer violates the rule. */
  readonly what: string;
}

interface Case extends Exchange {
  readonly operation: ContractOperation;
  readonly status: number;
  readonly code: string | undefined;
  readonly clubs: ClubsOfCase;
  readonly pool: Pool;
}

interface ClubsOfCase {
  readonly own: { readonly clubId: string; readonly canary: string };
  readonly other: { readonly clubId: string; readonly canary: string };
}

/** @returns the violation; undefined if the answer satisfies the rule */
type Rule = (of: Case) => string | undefined;

/** Codes of 5xx answers that the contract declares for cases without a fault of the service. */
const declaredBeyond500: readonly string[] = ['not_configured', 'rate_limit_unavailable', 'busy'];

/** Operations that read their body late may refuse an unknown sender with these codes. */
const unknownSender: readonly string[] = ['not_found', 'not_configured', 'signature_invalid'];

const rules: Readonly<Record<string, Rule>> = {
  'answers with no fault of the service': ({ status, code, errors, operation }) => {
    if (errors.length > 0) return `answered ${status} and logged ${errors.join(' ')}`;
    const isDeclared = declaredBeyond500.includes(code ?? '') && operation.errorCodes.some((known) => known === code);
    return status >= 500 && !isDeclared ? `answered ${status} ${code}` : undefined;
  },
  'answers as session, key, club, role and scope demand': (of) => {
    if (isLimited(of) || of.code === 'method_not_allowed') return undefined;
    const expectedCode = refusalOf(of);
    if (expectedCode === of.code) return undefined;
    if (expectedCode !== undefined && isPage(of) && of.status === errorStatus[expectedCode]) return undefined;
    if (of.hasRival && of.code !== undefined) return undefined; // the request that ran at the same time may have ended the session
    if (expectedCode !== undefined) return `answered ${of.status} ${of.code ?? ''}, and not ${expectedCode}`;
    return of.code === 'unauthenticated' || of.code === 'forbidden' ? `answered ${of.status} ${of.code}` : undefined;
  },
  'refuses what the contract does not allow': (of) => {
    const { fault } = of.step;
    if (!isAdmitted(of) || fault === undefined || fault.code === of.code || isLimited(of)) return undefined;
    if (isPage(of) && of.status === errorStatus[fault.code]) return undefined;
    if (asksForFreshFactor(of)) return undefined; // the service did not read the request further
    if (of.operation.readsBodyLate && unknownSender.includes(of.code ?? '')) return undefined; // the service did not read the body
    return `${fault.what}: answered ${of.status} ${of.code ?? ''}, and not ${fault.code}`;
  },
  'reads what the contract allows': (of) => {
    const unread = ['malformed_request', 'unsupported_media_type', 'body_too_large', 'method_not_allowed'];
    if (!isAdmitted(of) || of.step.fault !== undefined || !unread.includes(of.code ?? '')) return undefined;
    // The body of a billing notice is signed, but may be no event. The contract does not describe the inside of a mail server's report.
    if (['receiveBillingNotice', 'receiveMailReport'].includes(of.operation.operationId)) return undefined;
    return `answered ${of.status} ${of.code}: ${messageOf(of)}`;
  },
  'finds no record of another club': (of) => {
    const club = clubOf(of);
    if (club === undefined || of.status >= 300) return undefined;
    const foreign = of.pool.ids(otherThan(club)).map(({ value }) => value.toLowerCase());
    const { clubId: _, ...path } = of.resolvedStep.path;
    const foreignId = [...Object.values(path), ...idsIn(lookedUp(of.resolvedStep.body))].find((id) =>
      foreign.includes(id.toLowerCase()),
    );
    return foreignId === undefined ? undefined : `answered ${of.status} to ${foreignId}, which is another club's`;
  },
  'finds no deleted record': (of) => {
    if (of.status >= 300 || of.method === 'DELETE' || of.hasRival) return undefined;
    const { clubId: _, ...path } = of.resolvedStep.path;
    const deletedId = [...Object.values(path), ...idsIn(lookedUp(of.resolvedStep.body))].find((id) =>
      of.pool.isDeleted(id),
    );
    return deletedId === undefined ? undefined : `answered ${of.status} to ${deletedId}, which was deleted`;
  },
  'answers with the page that was asked for': ({ status, answer, resolvedStep, hasRival }) => {
    const list = answer?.body as { data?: unknown; total?: unknown } | undefined;
    if (hasRival || status !== 200 || !Array.isArray(list?.data) || typeof list.total !== 'number') return undefined;
    const { page = '1', page_size: size = '20' } = Object.fromEntries(resolvedStep.query ?? []) as Record<
      string,
      string
    >;
    const expectedLength = Math.min(Number(size), Math.max(0, list.total - (Number(page) - 1) * Number(size)));
    return list.data.length === expectedLength
      ? undefined
      : `answered ${list.data.length} of ${list.total}, and not ${expectedLength}`;
  },
  'shows nothing of another club': (of) => {
    const club = clubOf(of);
    if (club === undefined || of.operation.auth.length === 0) return undefined;
    const { canary, clubId } = of.clubs[otherThan(club)];
    const requestText = JSON.stringify([
      of.resolvedStep.path,
      of.resolvedStep.query,
      of.resolvedStep.body,
      of.resolvedStep.raw,
    ]);
    const ids = of.pool.ids(otherThan(club)).map(({ value }) => value);
    const outsideDrafts = JSON.stringify(withoutDrafts(of.answer?.body)) ?? '';
    const foreignTexts = [
      ...[canary, clubId].filter((text) => of.answer?.text.includes(text)),
      ...ids.filter((id) => of.answer?.text.includes(id) && (outsideDrafts === '' || outsideDrafts.includes(id))),
    ];
    const leaked = foreignTexts.find((text) => !requestText.toLowerCase().includes(text));
    return leaked === undefined ? undefined : `showed ${leaked}, which is another club's`;
  },
  'sends the headers of its kind': ({ answer, status }) => {
    if (!answer) return undefined;
    const { headers } = answer;
    const expectedHeaders: readonly (readonly [boolean, string, RegExp])[] = [
      [true, 'x-request-id', /^[\w.-]{8,64}$/],
      [true, 'x-content-type-options', /^nosniff$/],
      [status === 401, 'www-authenticate', /^Bearer$/],
      [status === 405, 'allow', /^[A-Z, ]+$/],
      [status === 429, 'retry-after', /^(|[1-9]\d*)$/],
      [
        answer.bytes.length > 0,
        'content-type',
        /^(application\/json; charset=utf-8|text\/(?:html|csv); charset=utf-8|application\/pdf|image\/gif|text\/event-stream)$/,
      ],
    ];
    const missing = expectedHeaders.find(([applies, name, form]) => applies && !form.test(headers.get(name) ?? ''));
    return missing && `answered ${status} with ${missing[1]}: ${headers.get(missing[1]) ?? 'nothing'}`;
  },
};

export function brokenRules(exchange: Exchange, clubs: ClubsOfCase, pool: Pool): Broken[] {
  const operation = operationOf(exchange.step.operation);
  if (exchange.problem !== undefined)
    return [{ rule: 'answers as the contract declares', what: `${exchange.problem.brief}: ${exchange.problem.what}` }];
  const { answer } = exchange;
  const status = answer?.status ?? 0;
  const of: Case = { ...exchange, operation, status, code: codeOf(answer?.body), clubs, pool };
  return Object.entries(rules).flatMap(([rule, judge]) => {
    const what = judge(of);
    return what === undefined ? [] : [{ rule, what }];
  });
}

export function codeOf(body: unknown): string | undefined {
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {};
  return typeof error['code'] === 'string' ? error['code'] : undefined;
}

/** Whether the answer is a page for people, which has no error code. */
const isPage = ({ answer }: Case) => answer?.headers.get('content-type')?.startsWith('text/html') === true;

const messageOf = ({ answer }: Case): string => answer?.text ?? '';

/**
 * Whether a rate limit refused the request. The API checks the limits first. On a busy machine, the counters of the limits can be
 * unavailable.
 */
const isLimited = ({ code }: Case) => code === 'rate_limited' || code === 'rate_limit_unavailable';

/** Whether the last proof of the caller is too old for the operation. This check precedes the checks of the request (FAC-2). */
const asksForFreshFactor = ({ code, operation }: Case) =>
  code === 'fresh_factor_required' && operation.freshFactor !== undefined;

/** Undefined if session or key, club, and role or scope admit the caller. */
function refusalOf({ operation, caller, resolvedStep, clubs }: Case): ErrorCode | undefined {
  const { auth, roles, scope, pathParameters } = operation;
  const clubId = resolvedStep.path['clubId']?.toLowerCase();
  const club = clubNamed(clubs, clubId);
  const isUnderClub = pathParameters.includes('clubId');
  if (auth.length === 0) return isUnderClub && club === undefined ? 'forbidden' : undefined;
  if (caller.kind === undefined) return 'unauthenticated';
  if (caller.kind === 'key' ? scope === undefined : !auth.includes(caller.kind)) return 'unauthenticated';
  if (!isUnderClub) return undefined;
  if (club === undefined || caller.club !== club) return 'forbidden';
  if (caller.kind === 'key') return isGranted(caller, scope) ? undefined : 'scope_not_granted';
  return caller.kind === 'admin' && !isPermitted(caller, roles) ? 'role_not_permitted' : undefined;
}

const isPermitted = ({ role }: Caller, roles: readonly string[] | undefined) =>
  roles === undefined || (role !== undefined && roles.includes(role));

const isGranted = ({ scopes }: Caller, scope: ContractOperation['scope']) =>
  scope === anyScope || (scope !== undefined && scopes?.includes(scope) === true);

const isAdmitted = (of: Case) => refusalOf(of) === undefined || of.step.fault?.code === 'method_not_allowed';

function clubNamed(clubs: ClubsOfCase, id: string | undefined): ClubName | undefined {
  return (['own', 'other'] as const).find((name) => clubs[name].clubId === id);
}

const clubOf = ({ clubs, resolvedStep }: Case) => clubNamed(clubs, resolvedStep.path['clubId']?.toLowerCase());

const otherThan = (club: ClubName): ClubName => (club === 'own' ? 'other' : 'own');

/**
 * Returns the part of a body in which the operation must refuse unknown ids. The result has no drafts, because an unknown id in a draft is
 * only a problem of the draft. The result has no lists of students, because each student of a list gets a separate result.
 */
function lookedUp(body: Json | undefined): Json | undefined {
  if (!isRecord(body)) return body;
  const {
    content: _content,
    audience: _audience,
    draft: _draft,
    student_ids: _ids,
    students: _students,
    ...rest
  } = body;
  return rest;
}

/** @returns an answer without its drafts. A draft can show ids that the staff of the club wrote, and that no operation has checked yet */
function withoutDrafts(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withoutDrafts);
  if (!isObject(part)) return part;
  const isDraft = (name: string, value: unknown) => ['audience', 'content', 'draft'].includes(name) && isObject(value);
  const otherParts = Object.entries(part).filter(([name, value]) => !isDraft(name, value));
  return Object.fromEntries(otherParts.map(([name, value]) => [name, withoutDrafts(value)]));
}

function idsIn(body: Json | undefined): string[] {
  if (typeof body === 'string') return [body];
  if (Array.isArray(body)) return (body as readonly Json[]).flatMap(idsIn);
  if (!isRecord(body)) return [];
  return Object.entries(body).flatMap(([name, part]) => (name === 'id' && typeof part === 'string' ? [] : idsIn(part)));
}
