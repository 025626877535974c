/** Reads parts of an OpenAPI document whose version is not known, so their types are not either. */

export type Json = Record<string, unknown>;

/** Follows the references of a part. A key of the part replaces the same key of its target. @throws Error if a target is missing */
export function resolve(document: object, value: unknown): Json {
  if (!isRecord(value)) return {};
  const name = value['$ref'];
  if (typeof name !== 'string') return value;
  const target = name
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((part, key) => (isRecord(part) ? part[key] : undefined), document);
  if (!isRecord(target)) throw new Error(`The contract has nothing at ${name}.`);
  return { ...resolve(document, target), ...value, $ref: undefined };
}

export const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

export const listOf = (value: unknown): unknown[] => (value === undefined ? [] : [value].flat());

export const listAt = (value: object, key: string): unknown[] => {
  const list = (value as Json)[key];
  return Array.isArray(list) ? list : [];
};

export const recordAt = (value: object, key: string): Json => {
  const record = (value as Json)[key];
  return isRecord(record) ? record : {};
};

export const entriesOf = (value: object, key: string): [string, unknown][] => Object.entries(recordAt(value, key));

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
