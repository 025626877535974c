/** What must hold of every answer, whatever was asked: one function a rule, and all of them in one list. */
import type { ContractOperation } from '../../../contract/contract.ts';
import { isObject } from '../../../contract/openapi.ts';
import { errorStatus, type ErrorCode } from '../../../platform/core/error-codes.ts';
import { operationOf } from '../../toolkit/drive/every-operation.ts';
import type { ClubName, Pool } from './requests/pool.ts';
import { isRecord, type Json } from './requests/step.ts';
import type { Caller } from './world/callers.ts';
import type { Exchange } from './world/world.ts';

export interface Broken {
  /** The name of the rule. */
  readonly rule: string;
  /** What the answer did instead. */
  readonly what: string;
}

/** An exchange with all that the rules look at. */
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

/** @returns what an answer of this kind breaks; undefined where it keeps the rule */
type Rule = (of: Case) => string | undefined;

/** Statuses from 500 on that the contract gives to a request that nothing is wrong with on the service's side. */
const declaredBeyond500: readonly string[] = ['not_configured', 'rate_limit_unavailable', 'busy'];

/** How operations that read their body late answer a sender whom they do not know. */
const unknownSender: readonly string[] = ['not_found', 'not_configured', 'signature_invalid'];

const rules: Readonly<Record<string, Rule>> = {
  'answers with no fault of the service': ({ status, code, errors, operation }) => {
    if (errors.length > 0) return `answered ${status} and logged ${errors.join(' ')}`;
    const isDeclared = declaredBeyond500.includes(code ?? '') && operation.errorCodes.some((known) => known === code);
    return status >= 500 && !isDeclared ? `answered ${status} ${code}` : undefined;
  },
  'answers as session, club and role demand': (of) => {
    if (isLimited(of) || of.code === 'method_not_allowed') return undefined;
    const wanted = refusalOf(of);
    if (wanted === of.code) return undefined;
    if (wanted !== undefined && isPage(of) && of.status === errorStatus[wanted]) return undefined;
    if (of.hasRival && of.code !== undefined) return undefined; // the other request may have ended the session
    if (wanted !== undefined) return `answered ${of.status} ${of.code ?? ''}, and not ${wanted}`;
    return of.code === 'unauthenticated' || of.code === 'forbidden' ? `answered ${of.status} ${of.code}` : undefined;
  },
  'refuses what the contract does not allow': (of) => {
    const { fault } = of.step;
    if (!isAdmitted(of) || fault === undefined || fault.code === of.code || isLimited(of)) return undefined;
    if (isPage(of) && of.status === errorStatus[fault.code]) return undefined;
    if (of.operation.readsBodyLate && unknownSender.includes(of.code ?? '')) return undefined; // nothing of the body was read
    return `${fault.what}: answered ${of.status} ${of.code ?? ''}, and not ${fault.code}`;
  },
  'reads what the contract allows': (of) => {
    const unread = ['malformed_request', 'unsupported_media_type', 'body_too_large', 'method_not_allowed'];
    if (!isAdmitted(of) || of.step.fault !== undefined || !unread.includes(of.code ?? '')) return undefined;
    if (of.operation.operationId === 'receiveBillingNotice') return undefined; // signed, but no event of the processor
    return `answered ${of.status} ${of.code}: ${messageOf(of)}`;
  },
  'finds no record of another club': (of) => {
    const club = clubOf(of);
    if (club === undefined || of.status >= 300) return undefined;
    const foreign = of.pool.ids(otherThan(club)).map(({ value }) => value.toLowerCase());
    const { clubId: _, ...path } = of.sent.path;
    const found = [...Object.values(path), ...idsIn(lookedUp(of.sent.body))].find((id) =>
      foreign.includes(id.toLowerCase()),
    );
    return found === undefined ? undefined : `answered ${of.status} to ${found}, which is another club's`;
  },
  'finds no deleted record': (of) => {
    if (of.status >= 300 || of.method === 'DELETE' || of.hasRival) return undefined;
    const { clubId: _, ...path } = of.sent.path;
    const found = [...Object.values(path), ...idsIn(lookedUp(of.sent.body))].find((id) => of.pool.isDeleted(id));
    return found === undefined ? undefined : `answered ${of.status} to ${found}, which was deleted`;
  },
  'answers with the page that was asked for': ({ status, answer, sent, hasRival }) => {
    const list = answer?.body as { data?: unknown; total?: unknown } | undefined;
    if (hasRival || status !== 200 || !Array.isArray(list?.data) || typeof list.total !== 'number') return undefined;
    const { page = '1', page_size: size = '20' } = Object.fromEntries(sent.query ?? []) as Record<string, string>;
    const wanted = Math.min(Number(size), Math.max(0, list.total - (Number(page) - 1) * Number(size)));
    return list.data.length === wanted ? undefined : `answered ${list.data.length} of ${list.total}, and not ${wanted}`;
  },
  'shows nothing of another club': (of) => {
    const club = clubOf(of);
    if (club === undefined || of.operation.auth.length === 0) return undefined;
    const { canary, clubId } = of.clubs[otherThan(club)];
    const asked = JSON.stringify([of.sent.path, of.sent.query, of.sent.body, of.sent.raw]);
    const ids = of.pool.ids(otherThan(club)).map(({ value }) => value);
    const outsideDrafts = JSON.stringify(withoutDrafts(of.answer?.body)) ?? '';
    const found = [
      ...[canary, clubId].filter((text) => of.answer?.text.includes(text)),
      ...ids.filter((id) => of.answer?.text.includes(id) && (outsideDrafts === '' || outsideDrafts.includes(id))),
    ];
    const shown = found.find((text) => !asked.toLowerCase().includes(text));
    return shown === undefined ? undefined : `showed ${shown}, which is another club's`;
  },
  'sends the headers of its kind': ({ answer, status }) => {
    if (!answer) return undefined;
    const { headers } = answer;
    const wanted: readonly (readonly [boolean, string, RegExp])[] = [
      [true, 'x-request-id', /^[\w.-]{8,64}$/],
      [true, 'x-content-type-options', /^nosniff$/],
      [status === 401, 'www-authenticate', /^Bearer$/],
      [status === 405, 'allow', /^[A-Z, ]+$/],
      [status === 429, 'retry-after', /^(|[1-9]\d*)$/],
      [
        answer.bytes.length > 0,
        'content-type',
        /^(application\/json; charset=utf-8|text\/html; charset=utf-8|application\/pdf|image\/gif|text\/event-stream)$/,
      ],
    ];
    const missing = wanted.find(([applies, name, form]) => applies && !form.test(headers.get(name) ?? ''));
    return missing && `answered ${status} with ${missing[1]}: ${headers.get(missing[1]) ?? 'nothing'}`;
  },
};

/** @returns the rules that an answer breaks */
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

/** A page for people says nothing by a code. */
const isPage = ({ answer }: Case) => answer?.headers.get('content-type')?.startsWith('text/html') === true;

const messageOf = ({ answer }: Case): string => answer?.text ?? '';

/** A limit is judged before the request is; its counters are away for a moment where the machine is too busy. */
const isLimited = ({ code }: Case) => code === 'rate_limited' || code === 'rate_limit_unavailable';

/** The code with which session, club and role alone refuse the caller; undefined where they let them in. */
function refusalOf({ operation, caller, sent, clubs }: Case): ErrorCode | undefined {
  const { auth, roles, pathParameters } = operation;
  const clubId = sent.path['clubId']?.toLowerCase();
  const club = clubNamed(clubs, clubId);
  const isUnderClub = pathParameters.includes('clubId');
  if (auth.length === 0) return isUnderClub && club === undefined ? 'forbidden' : undefined;
  if (caller.kind === undefined || !auth.includes(caller.kind)) return 'unauthenticated';
  if (!isUnderClub) return undefined;
  if (club === undefined || caller.club !== club) return 'forbidden';
  return caller.kind === 'admin' && !isPermitted(caller, roles) ? 'role_not_permitted' : undefined;
}

const isPermitted = ({ role }: Caller, roles: readonly string[] | undefined) =>
  roles === undefined || (role !== undefined && roles.includes(role));

const isAdmitted = (of: Case) => refusalOf(of) === undefined || of.step.fault?.code === 'method_not_allowed';

function clubNamed(clubs: ClubsOfCase, id: string | undefined): ClubName | undefined {
  return (['own', 'other'] as const).find((name) => clubs[name].clubId === id);
}

/** The club of the path. */
const clubOf = ({ clubs, sent }: Case) => clubNamed(clubs, sent.path['clubId']?.toLowerCase());

const otherThan = (club: ClubName): ClubName => (club === 'own' ? 'other' : 'own');

/** A body without what a draft names, which is told among its problems, and without students who are told one by one. */
function lookedUp(body: Json | undefined): Json | undefined {
  if (!isRecord(body)) return body;
  const { content: _content, audience: _audience, draft: _draft, student_ids: _students, ...rest } = body;
  return rest;
}

/** @returns an answer without drafts: they show the ids that a club's own staff wrote, which nobody looked up yet */
function withoutDrafts(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withoutDrafts);
  if (!isObject(part)) return part;
  const isDraft = (name: string, value: unknown) => ['audience', 'content', 'draft'].includes(name) && isObject(value);
  const kept = Object.entries(part).filter(([name, value]) => !isDraft(name, value));
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutDrafts(value)]));
}

/** Every text of a body but ids that the caller makes up. */
function idsIn(body: Json | undefined): string[] {
  if (typeof body === 'string') return [body];
  if (Array.isArray(body)) return (body as readonly Json[]).flatMap(idsIn);
  if (!isRecord(body)) return [];
  return Object.entries(body).flatMap(([name, part]) => (name === 'id' && typeof part === 'string' ? [] : idsIn(part)));
}
