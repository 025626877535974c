/** Generates a request for an operation: a valid request, or a request with one fault. Its ids usually exist. */
import type { CallerKind, ContractOperation } from '../../../../contract/contract.ts';
import { faultsOf } from './contract-check.ts';
import type { Draw } from './draw.ts';
import { faultyVersions, type FaultyPart } from './faults.ts';
import { mailReport } from './notices.ts';
import type { Pool } from './pool.ts';
import { kindOfParameter } from './record-kinds.ts';
import { isRecord, resolved, type CallerName, type Json, type RequestStep } from './step.ts';
import { someReference, usualShares, type Shares } from './references.ts';
import { suggestionsFor } from './suggestions.ts';
import { valueOf, type Suggest } from './values.ts';
import { bodySchemaOf, everyOperation } from '../../../toolkit/drive/every-operation.ts';

export interface Surroundings {
  readonly pool: Pool;
  readonly valueOf: (name: string) => string | undefined;
}

/** The percentages of kinds of requests, and the records that the requests name. */
export interface Wishes {
  readonly faulty: number;
  /**
   * The percentage of requests from a caller who may make them. If the percentage is 100, all requests come from the caller with the most
   * rights.
   */
  readonly permitted: number;
  /** For this percentage of the valid writes, another request about the record is sent at the same time. */
  readonly beside: number;
  readonly inPath: Shares;
  readonly inBody: Shares;
}

export const usualWishes: Wishes = { faulty: 30, permitted: 88, beside: 8, inPath: usualShares, inBody: usualShares };

const tries = 50;

/** A part of a request with a larger number contains the fault more often. */
const partWeights: readonly (readonly [number, FaultyPart])[] = [
  [60, 'body'],
  [20, 'query'],
  [12, 'path'],
  [6, 'headers'],
  [2, 'method'],
];

/** @throws Error if no valid request is found, because the generator lacks a case */
export function generateRequest(
  draw: Draw,
  operation: ContractOperation,
  name: string,
  surroundings: Surroundings,
  wishes: Wishes = usualWishes,
): RequestStep {
  const caller = callerFor(draw, operation, wishes.permitted);
  const valid = validRequest(draw, operation, { name, caller, wishes }, surroundings);
  if (draw.chance(wishes.faulty / 100)) return withFault(draw, operation, valid, surroundings);
  if (operation.method === 'get' || !draw.chance(wishes.beside / 100)) return valid;
  return { ...valid, beside: rivalOf(draw, operation, valid, surroundings) };
}

function withFault(
  draw: Draw,
  operation: ContractOperation,
  valid: RequestStep,
  { valueOf: valueOfTemplate }: Surroundings,
): RequestStep {
  const versions = faultyVersions(operation, valid);
  const parts = partWeights.filter(([, part]) => versions[part].length > 0);
  for (let attempt = 0; attempt < tries; attempt++) {
    const version = draw.pick(versions[draw.weighted(parts)]);
    if (isOutside(version) || faultsOf(operation, resolved(version as never, valueOfTemplate)).length > 0)
      return version;
  }
  return valid;
}

const isOutside = ({ raw, fault }: RequestStep) =>
  raw !== undefined || fault?.code === 'unsupported_media_type' || fault?.code === 'method_not_allowed';

function validRequest(
  draw: Draw,
  operation: ContractOperation,
  { name, caller, wishes }: { name: string; caller: CallerName; wishes: Wishes },
  { pool, valueOf: valueOfTemplate }: Surroundings,
): RequestStep {
  let faults: string[] = [];
  for (let attempt = 0; attempt < tries; attempt++) {
    const suggest = suggestionsFor(draw, pool, operation, wishes.inBody);
    const step: RequestStep = {
      name,
      operation: operation.operationId,
      caller,
      path: pathFor(draw, operation, pool, caller, wishes),
      ...queryFor(draw, operation, suggest),
      ...bodyFor(draw, operation, suggest, pool),
      ...headersFor(draw, operation),
    };
    faults = faultsOf(operation, resolved(step as never, valueOfTemplate));
    if (faults.length === 0) return step;
  }
  throw new Error(`No valid request for ${operation.operationId} in ${tries} tries: ${faults.join('; ')}`);
}

function rivalOf(draw: Draw, operation: ContractOperation, step: RequestStep, surroundings: Surroundings): RequestStep {
  const name = `${step.name}b`;
  const last = operation.pathParameters.at(-1);
  const rivals = everyOperation.filter(
    ({ auth, pathParameters }) =>
      last !== undefined &&
      pathParameters.at(-1) === last &&
      pathParameters.every((parameter) => operation.pathParameters.includes(parameter)) &&
      auth.some((kind) => operation.auth.includes(kind)),
  );
  if (rivals.length === 0 || draw.chance(0.4)) return { ...step, name };
  const rival = draw.pick(rivals);
  const request = validRequest(draw, rival, { name, caller: step.caller, wishes: usualWishes }, surroundings);
  const path = Object.fromEntries(rival.pathParameters.map((parameter) => [parameter, step.path[parameter] ?? '']));
  return { ...request, path };
}

const permittedCallers: Readonly<Record<CallerKind, readonly CallerName[]>> = {
  student: ['student', 'student', 'student', 'visitor'],
  admin: ['owner', 'owner', 'admin', 'editor', 'support'],
};
/** The share of requests by a key, if a key may call the operation. */
const shareOfKeys = 0.2;
const strangers: readonly CallerName[] = [
  'otherOwner',
  'otherStudent',
  'readerKey',
  'otherKey',
  'expiredKey',
  'outsider',
  'nobody',
  'expiredStudent',
  'expiredAdmin',
  'endedStudent',
  'endedAdmin',
  'malformed',
];

function callerFor(draw: Draw, { auth, roles, scope }: ContractOperation, permitted: number): CallerName {
  if (auth.length === 0) return draw.chance(0.9) ? 'nobody' : draw.pick(['owner', 'student', 'malformed']);
  const kinds = permittedCallers[draw.pick(auth)];
  if (roles?.length === 0 && draw.chance(permitted / 100)) return 'key';
  if (permitted === 100) return kinds[0] ?? 'nobody';
  if (scope !== undefined && draw.chance(shareOfKeys)) return 'key';
  if (roles?.length !== 0 && draw.chance(permitted / 100))
    return draw.pick(kinds.filter((name) => !(name in ranks) || !roles || roles.includes(name)));
  return draw.pick([...strangers, 'key', ...permittedCallers.student, ...permittedCallers.admin]);
}

const ranks: Readonly<Partial<Record<CallerName, true>>> = { owner: true, admin: true, editor: true, support: true };

/** Chooses the parameters of the path from the last to the first, because a nested record determines its parents. */
function pathFor(
  draw: Draw,
  operation: ContractOperation,
  pool: Pool,
  caller: CallerName,
  { inPath, permitted }: Wishes,
): Record<string, string> {
  const path: Record<string, string> = {};
  for (const name of operation.pathParameters.toReversed()) {
    if (name === 'clubId') path[name] = permitted === 100 ? '{{own.club}}' : clubFor(draw, caller);
    else if (name === 'platform') path[name] ??= draw.pick(['generic', 'hotmart', 'kiwify', 'unheard-of']);
    else if (name === 'provider')
      path[name] ??= draw.pick(['postmark', 'mailgun', 'sendgrid', 'resend', 'brevo', 'unheard-of']);
    else if (name === 'language') path[name] ??= draw.pick(['en', 'pt-BR', 'en', 'pt-BR', 'zh-Hant-TW', 'qaa']);
    else if (name === 'template')
      path[name] ??= draw.pick([
        'student_invitation',
        'student_invitation',
        'student_code',
        'media_expiring',
        'unheard_of',
      ]);
    else if (name === 'slug')
      path[name] ??= draw.pick([
        '{{own.slug}}',
        '{{own.slug}}',
        '{{own.slug}}',
        '{{upper:own.slug}}',
        'students',
        'a-club',
        'HARBOUR.',
        'xn--a',
        '%00',
        '%2F',
        '%zz',
      ]);
    else if (name === 'reaction') path[name] ??= draw.pick(permitted === 100 ? ['like'] : ['like', 'laugh', 'seventh']);
    else if (path[name] === undefined || draw.chance(0.05)) {
      const reference = someReference(draw, pool, kindOfParameter(operation, name), inPath);
      const schema = operation.parameters.find((parameter) => parameter.name === name)?.schema;
      if (inPath === usualShares && schema && schema.format !== 'uuid' && draw.chance(0.06))
        path[name] = segmentOf(textOfScalar(valueOf(draw, schema)));
      else if (typeof reference === 'string') path[name] = reference;
      else Object.assign(path, { [name]: reference.template }, within(operation, reference.parents));
    }
  }
  return path;
}

/** Returns a text that a path can contain. The text is not empty and is not `.` or `..`, because clients would resolve these. */
const segmentOf = (text: string): string => (/^\.{0,2}$/.test(text) ? 'dots' : text);

function within({ pathParameters }: ContractOperation, parents: Readonly<Record<string, string>> = {}) {
  return Object.fromEntries(Object.entries(parents).filter(([name]) => pathParameters.includes(name)));
}

function clubFor(draw: Draw, caller: CallerName): string {
  const others = ['{{other.club}}', '{{uuid:3}}', 'my-club', '{{upper:own.club}}', '{{own.club}}0', '%00'];
  if (caller.startsWith('other') && draw.chance(0.4)) return '{{other.club}}';
  return draw.chance(0.93) ? '{{own.club}}' : draw.pick(others);
}

function queryFor(draw: Draw, operation: ContractOperation, suggest: Suggest): Pick<RequestStep, 'query'> {
  const share = draw.pick([0, 0.3, 0.3, 0.8]);
  // Every text that the fuzzer can draw is refused as a cursor, so most lists get none.
  const shareOf = (name: string) => (name === 'cursor' ? share / 10 : share);
  const query = operation.parameters
    .filter(({ in: location, required, name }) => location === 'query' && (required || draw.chance(shareOf(name))))
    .map(({ name, schema }) => [name, textOfScalar(valueOf(draw, schema, suggest, [name]))] as const);
  const hasCursor = query.some(([name]) => name === 'cursor');
  const possible = query.filter(([name]) => !(hasCursor && name === 'page')); // a request has either a cursor or a page
  return possible.length === 0 ? {} : { query: possible };
}

function textOfScalar(value: Json): string {
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function bodyFor(
  draw: Draw,
  operation: ContractOperation,
  suggest: Suggest,
  pool: Pool,
): Pick<RequestStep, 'body' | 'raw' | 'headers'> {
  if (!operation.hasBody) return {};
  if (operation.operationId === 'receiveMailReport') return { raw: mailReport(draw) };
  if (operation.fileBody) return { raw: table(draw, pool) };
  const body = valueOf(draw, bodySchemaOf(operation), suggest);
  return { body: isRecord(body) ? body : {} };
}

function headersFor(
  draw: Draw,
  { contentTypes, fileBody, parameters }: ContractOperation,
): Pick<RequestStep, 'headers'> {
  const accept = contentTypes.includes('text/html') && draw.chance(0.4) ? 'text/html' : undefined;
  const matches = parameters.some(({ in: where, name }) => where === 'header' && name === 'If-Match');
  const headers = {
    ...(accept && { accept }),
    ...(fileBody && { 'content-type': fileBody.type }),
    ...(matches && {
      'if-match': draw.weighted([
        [4, '*'],
        [1, '"1"'],
      ]),
    }),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
}

function table(draw: Draw, pool: Pool): string {
  if (draw.chance(0.1)) return draw.pick(['\n', 'email', 'email,name', '"email,name\n', 'name;email\n;;\n', '\uFEFF']);
  const known = pool.living('student.email').map(({ template }) => template);
  const rows = Array.from({ length: draw.between(0, 6) }, () => {
    const email = draw.pick([`row-${draw.below(20)}@example.com`, ...known.slice(0, 2), 'no address', '']);
    return `${email},${draw.pick(['Rita Row', '', '"Row, Rita"', 'x'.repeat(200)])}`;
  });
  return `${draw.pick(['email,name', 'EMAIL,Name,Phone', 'email;name'])}\n${rows.join('\n')}\n`;
}
