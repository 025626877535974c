/**
 * Compares two versions of the contract. Lists everything that callers of the earlier version lose. A later contract may promise callers
 * more and require less from callers. Schemas are compared by the targets of their `$ref`, not by their names.
 */
import { entriesOf, isPart, listAt, partAt, resolve, shownValue, type DocumentPart } from './document-parts.ts';
import { brokenBounds, brokenNotice, SchemaComparison, type Direction } from './schema-terms.ts';

const methods = new Set(['get', 'put', 'post', 'patch', 'delete']);

/**
 * @param earlier an OpenAPI document
 * @param later the OpenAPI document that replaces `earlier`
 * @returns a line for each broken term: `no longer: <place> …` for a lost promise, `asked now: <place> …` for a new requirement; empty if
 * nothing breaks for callers
 */
export function brokenTerms(earlier: object, later: object): string[] {
  return [
    ...new Set([
      ...brokenSchemes(earlier, later),
      ...brokenCodes(earlier, later),
      ...brokenOperations(earlier, later),
      ...brokenWebhooks(earlier, later),
    ]),
  ];
}

/** Compares how callers prove who they are. Texts for readers may change. */
function brokenSchemes(earlier: object, later: object): string[] {
  const schemesOf = (document: object) => partAt(partAt(document, 'components'), 'securitySchemes');
  const replacements = schemesOf(later);
  return Object.entries(schemesOf(earlier)).flatMap(([name, scheme]) =>
    ['type', 'scheme', 'in', 'name', 'openIdConnectUrl']
      .filter((word) => (scheme as DocumentPart)[word] !== partAt(replacements, name)[word])
      .map((word) => `no longer: security scheme ${name} ${word} ${shownValue((scheme as DocumentPart)[word])}`),
  );
}

/** Compares the table of error codes: programs decide by a code and its status. */
function brokenCodes(earlier: object, later: object): string[] {
  const codesOf = (document: object) =>
    partAt(partAt(partAt(partAt(document, 'components'), 'schemas'), 'ErrorCode'), 'x-codes');
  const replacements = codesOf(later);
  return Object.entries(codesOf(earlier)).flatMap(([code, entry]) => {
    const { status } = entry as DocumentPart;
    if (!(code in replacements)) return [`no longer: x-codes ${code}`];
    return partAt(replacements, code)['status'] === status
      ? []
      : [`no longer: x-codes ${code} status ${shownValue(status)}`];
  });
}

function brokenOperations(earlier: object, later: object): string[] {
  const broken: string[] = [];
  const comparison = new SchemaComparison(earlier, later);
  for (const [path, earlierItem] of entriesOf(earlier, 'paths')) {
    const laterItem = partAt(partAt(later, 'paths'), path);
    for (const [method, operation] of Object.entries(earlierItem as DocumentPart)) {
      if (!methods.has(method) || !isPart(operation)) continue;
      const place = `${method} ${path}`;
      const replacement = laterItem[method];
      if (!isPart(replacement)) {
        broken.push(`no longer: ${place}`);
        continue;
      }
      const before = withSharedParts(earlier, earlierItem as DocumentPart, operation);
      const after = withSharedParts(later, laterItem, replacement);
      broken.push(
        ...brokenNotice(before, after, place),
        ...brokenWords(comparison, before, after, place),
        ...brokenAccess(before, after, place),
        ...brokenParameters(comparison, before, after, place),
        ...brokenBody(comparison, before, after, place),
        ...brokenAnswers(comparison, before, after, place),
      );
    }
  }
  return broken;
}

/** Returns an operation together with the parameters of its path and the security of its document. */
function withSharedParts(document: object, item: DocumentPart, operation: DocumentPart): DocumentPart {
  return {
    ...operation,
    parameters: [...listAt(item, 'parameters'), ...listAt(operation, 'parameters')],
    security: operation['security'] ?? (document as DocumentPart)['security'] ?? [],
  };
}

/** Compares the id of an operation, which the SDK and the audit log show, and the rules that it states as words. */
function brokenWords(comparison: SchemaComparison, before: DocumentPart, after: DocumentPart, place: string): string[] {
  const broken: string[] = [];
  const { operationId } = before;
  if (operationId !== after['operationId']) broken.push(`no longer: ${place} operationId ${shownValue(operationId)}`);
  for (const word of ['x-any-query', 'x-any-text'])
    if (before[word] === true && after[word] !== true) broken.push(`no longer: ${place} ${word}`);
  // A caller that repeats a request relies on the effect of its key. A repeatable operation may learn to keep its answers.
  const [effect, later] = [before, after].map((operation) => operation['x-idempotency'] ?? 'kept');
  const takesKey = parametersOf(comparison.earlier, before).has('header Idempotency-Key');
  if (takesKey && effect !== 'repeatable' && later !== effect)
    broken.push(`no longer: ${place} x-idempotency ${shownValue(effect)}`);
  return broken;
}

/** Compares who may call an operation, and which error codes the operation can return. */
function brokenAccess(before: DocumentPart, after: DocumentPart, place: string): string[] {
  const broken: string[] = [];
  const alternatives = listAt(after, 'security').map((entry) => Object.keys(entry as DocumentPart));
  for (const entry of listAt(before, 'security')) {
    const schemes = Object.keys(entry as DocumentPart);
    const isMet =
      alternatives.length === 0 || alternatives.some((others) => others.every((one) => schemes.includes(one)));
    if (!isMet) broken.push(`no longer: ${place} security ${schemes.join('+')}`);
  }
  if (listAt(before, 'security').length === 0 && alternatives.length > 0 && alternatives.every((one) => one.length > 0))
    broken.push(`asked now: ${place} security ${alternatives.map((one) => one.join('+')).join(' or ')}`);
  // Without x-roles, every role may call the operation. Without x-scope, no key may call the operation.
  const roles = after['x-roles'] as unknown[] | undefined;
  if (roles && !before['x-roles']) broken.push(`asked now: ${place} x-roles ${roles.join(', ')}`);
  for (const role of roles ? listAt(before, 'x-roles') : [])
    if (!roles?.includes(role)) broken.push(`no longer: ${place} x-roles ${shownValue(role)}`);
  for (const word of ['x-scope', 'x-error-codes'])
    for (const value of [before[word] ?? []].flat())
      if (![after[word] ?? []].flat().includes(value)) broken.push(`no longer: ${place} ${word} ${shownValue(value)}`);
  return broken;
}

function brokenParameters(
  comparison: SchemaComparison,
  before: DocumentPart,
  after: DocumentPart,
  place: string,
): string[] {
  const broken: string[] = [];
  const remaining = parametersOf(comparison.later, after);
  for (const [name, parameter] of parametersOf(comparison.earlier, before)) {
    const replacement = remaining.get(name);
    remaining.delete(name);
    if (!replacement) {
      broken.push(`no longer: ${place} ${name}`);
      continue;
    }
    if (replacement['required'] === true && parameter['required'] !== true)
      broken.push(`asked now: ${place} ${name} is always there true`);
    for (const word of ['style', 'explode', 'allowReserved'])
      if (parameter[word] !== replacement[word])
        broken.push(`no longer: ${place} ${name} ${word} ${shownValue(parameter[word] ?? 'by default')}`);
    broken.push(...brokenNotice(parameter, replacement, `${place} ${name}`));
    broken.push(...comparison.compare(parameter['schema'], replacement['schema'], `${place} ${name}`, 'sent'));
  }
  for (const [name, parameter] of remaining)
    if (parameter['required'] === true) broken.push(`asked now: ${place} ${name} is always there true`);
  return broken;
}

function parametersOf(document: object, operation: DocumentPart): Map<string, DocumentPart> {
  const parameters = listAt(operation, 'parameters').map((one) => resolve(document, one));
  return new Map(parameters.map((one) => [`${shownValue(one['in'])} ${shownValue(one['name'])}`, one]));
}

function brokenBody(comparison: SchemaComparison, before: DocumentPart, after: DocumentPart, place: string): string[] {
  const body = resolve(comparison.earlier, before['requestBody']);
  const replacement = resolve(comparison.later, after['requestBody']);
  const isAskedNow = replacement['required'] === true && body['required'] !== true;
  return [
    ...(isAskedNow ? [`asked now: ${place} body is always there true`] : []),
    ...brokenContents(comparison, body, replacement, `${place} body`, 'sent'),
  ];
}

function brokenAnswers(
  comparison: SchemaComparison,
  before: DocumentPart,
  after: DocumentPart,
  place: string,
): string[] {
  const broken: string[] = [];
  for (const [status, answer] of entriesOf(before, 'responses')) {
    const replacement = partAt(after, 'responses')[status];
    if (replacement === undefined) {
      broken.push(`no longer: ${place} ${status}`);
      continue;
    }
    const [earlier, later] = [resolve(comparison.earlier, answer), resolve(comparison.later, replacement)];
    broken.push(...brokenHeaders(comparison, earlier, later, `${place} ${status}`));
    broken.push(...brokenContents(comparison, earlier, later, `${place} ${status}`, 'received'));
  }
  // Callers know the statuses of a success. They treat an unknown error by its first digit.
  for (const [status] of entriesOf(after, 'responses'))
    if (/^[123]/.test(status) && !(status in partAt(before, 'responses'))) broken.push(`asked now: ${place} ${status}`);
  return broken;
}

function brokenHeaders(
  comparison: SchemaComparison,
  before: DocumentPart,
  after: DocumentPart,
  place: string,
): string[] {
  return entriesOf(before, 'headers').flatMap(([name, header]) => {
    const at = `${place} header ${name}`;
    const replacement = partAt(after, 'headers')[name];
    if (replacement === undefined) return [`no longer: ${at}`];
    const [one, other] = [resolve(comparison.earlier, header), resolve(comparison.later, replacement)];
    const isOptionalNow = one['required'] === true && other['required'] !== true;
    return [
      ...(isOptionalNow ? [`no longer: ${at} is always there`] : []),
      ...comparison.compare(one['schema'], other['schema'], at, 'received'),
    ];
  });
}

function brokenContents(
  comparison: SchemaComparison,
  before: DocumentPart,
  after: DocumentPart,
  place: string,
  direction: Direction,
): string[] {
  const broken: string[] = [];
  for (const [type, content] of entriesOf(before, 'content')) {
    const replacement = partAt(after, 'content')[type];
    const at = `${place} ${type}`;
    if (!isPart(replacement)) {
      broken.push(`no longer: ${at}`);
      continue;
    }
    if (direction === 'sent') broken.push(...brokenBounds(content as DocumentPart, replacement, at));
    broken.push(...comparison.compare((content as DocumentPart)['schema'], replacement['schema'], at, direction));
  }
  return broken;
}

function brokenWebhooks(earlier: object, later: object): string[] {
  const comparison = new SchemaComparison(earlier, later);
  return entriesOf(earlier, 'webhooks').flatMap(([event, item]) => {
    const bodyOf = (document: object, hook: unknown) =>
      resolve(document, partAt(isPart(hook) ? hook : {}, 'post')['requestBody']);
    const replacement = partAt(later, 'webhooks')[event];
    if (replacement === undefined) return [`no longer: webhook ${event}`];
    return brokenContents(
      comparison,
      bodyOf(earlier, item),
      bodyOf(later, replacement),
      `webhook ${event}`,
      'received',
    );
  });
}
