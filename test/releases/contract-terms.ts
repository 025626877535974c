/** What a contract gives its callers, and what it asks of them: a later one may give more and ask less, never the other way round. */

interface Terms {
  /** What callers rely on: operations, their answers, types, properties, and values that are accepted. */
  promises: string[];
  /** What callers have to do: what must be there (true), and the bounds of what they send. */
  demands: ReadonlyMap<string, unknown>;
}

const methods = new Set(['get', 'put', 'post', 'patch', 'delete']);
const bounds = new Set(
  'maxLength minLength maximum minimum maxItems minItems minProperties pattern uniqueItems additionalProperties'.split(
    ' ',
  ),
);
const single = new Set(['type', 'format', 'const', 'default', '$ref']);

/** @param document an OpenAPI document whose operations name schemas by `$ref` @returns lines that name a place */
function termsOf(document: object): Terms {
  const promises = new Set<string>();
  const demands = new Map<string, unknown>();
  const seen = new Set<string>();

  /** @param isSent callers send it: otherwise they receive it */
  function schema(value: unknown, at: string, isSent: boolean): void {
    if (!isRecord(value)) return;
    for (const [key, inner] of Object.entries(value)) {
      if (single.has(key)) promises.add(`${at} ${key} ${JSON.stringify(inner)}`);
      if (key === '$ref') named(String(inner), isSent, (target, place) => schema(target, place, isSent));
      if (key === 'enum' && isSent)
        for (const one of inner as unknown[]) promises.add(`${at} accepts ${JSON.stringify(one)}`);
      if (key === 'enum' && !isSent) promises.add(`${at} is one of ${JSON.stringify(inner)}`);
      if (key === 'required') for (const one of inner as string[]) always(`${at}/${one}`, isSent);
      if (bounds.has(key) && isSent && !isRecord(inner)) demands.set(`${at} ${key}`, inner);
      if (key === 'items' || key === 'additionalProperties') schema(inner, `${at}/${key}`, isSent);
      if (key === 'oneOf' || key === 'allOf')
        for (const one of inner as unknown[])
          schema(one, `${at}/${key}${isRecord(one) && '$ref' in one ? '' : '/own'}`, isSent);
      if (key === 'properties')
        for (const [name, one] of Object.entries(inner as object)) {
          promises.add(`${at}/${name}`);
          schema(one, `${at}/${name}`, isSent);
        }
    }
  }

  function always(place: string, isSent: boolean): void {
    if (isSent) demands.set(`${place} is always there`, true);
    else promises.add(`${place} is always there`);
  }

  /** Goes to what a `$ref` names, once for each direction. */
  function named(ref: string, isSent: boolean, go: (target: unknown, place: string) => void): void {
    const place = ref.slice('#/components/'.length);
    const key = `${place} ${isSent ? 'sent' : 'received'}`;
    if (seen.has(key)) return;
    seen.add(key);
    go(targetOf(document, ref), place);
  }

  const resolved = (value: unknown): unknown =>
    isRecord(value) && typeof value['$ref'] === 'string' ? targetOf(document, value['$ref']) : value;

  function contents(value: unknown, at: string, isSent: boolean): void {
    for (const [type, inner] of entriesOf(value, 'content')) {
      promises.add(`${at} ${type}`);
      schema((inner as { schema?: unknown }).schema, `${at} ${type}`, isSent);
    }
  }

  function parameter(value: unknown, at: string): void {
    const one = resolved(value) as { name: string; in: string; required?: boolean; schema?: unknown };
    const place = `${at} ${one.in} ${one.name}`;
    promises.add(place);
    if (one.required) always(place, true);
    schema(one.schema, place, true);
  }

  for (const [path, item] of entriesOf(document, 'paths')) {
    const shared = (item as { parameters?: unknown[] }).parameters ?? [];
    for (const [method, operation] of Object.entries(item as object) as [string, Record<string, unknown>][]) {
      if (!methods.has(method)) continue;
      const at = `${method} ${path}`;
      promises.add(at);
      for (const one of [...shared, ...((operation['parameters'] ?? []) as unknown[])]) parameter(one, at);
      const body = resolved(operation['requestBody']);
      if (isRecord(body) && body['required'] === true) always(`${at} body`, true);
      contents(body, `${at} body`, true);
      for (const [status, answer] of entriesOf(operation, 'responses')) {
        promises.add(`${at} ${status}`);
        contents(resolved(answer), `${at} ${status}`, false);
      }
    }
  }
  for (const [event, item] of entriesOf(document, 'webhooks'))
    contents(resolved((item as { post?: { requestBody?: unknown } }).post?.requestBody), `webhook ${event}`, false);
  return { promises: [...promises], demands };
}

/** @returns what a later document takes from callers of an earlier one: a line for each place */
export function brokenTerms(earlier: object, later: object): string[] {
  const [before, after] = [termsOf(earlier), termsOf(later)];
  const promised = new Set(after.promises);
  return [
    ...before.promises.filter((promise) => !promised.has(promise)).map((promise) => `no longer: ${promise}`),
    ...[...after.demands]
      .filter(([place, asked]) => !isMet(place, before.demands.get(place), asked))
      .map(([place, asked]) => `asked now: ${place} ${String(asked)}`),
  ];
}

/** Whether what met an earlier demand meets a later one. */
function isMet(place: string, earlier: unknown, later: unknown): boolean {
  if (typeof earlier !== 'number' || typeof later !== 'number') return earlier === later;
  return / max\w+$/.test(place) ? later >= earlier : later <= earlier;
}

function targetOf(document: object, ref: string): unknown {
  return ref
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), document);
}

const entriesOf = (value: unknown, key: string): [string, unknown][] => {
  const inner = isRecord(value) ? value[key] : undefined;
  return isRecord(inner) ? Object.entries(inner) : [];
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
