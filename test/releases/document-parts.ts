/** Reads parts of an OpenAPI document whose version is not known, so their types are not either. */

export type DocumentPart = Record<string, unknown>;

/** Follows the references of a part. A key of the part replaces the same key of its target. @throws Error if a target is missing */
export function resolve(document: object, value: unknown): DocumentPart {
  if (!isPart(value)) return {};
  const name = value['$ref'];
  if (typeof name !== 'string') return value;
  const target = name
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((part, key) => (isPart(part) ? part[key] : undefined), document);
  if (!isPart(target)) throw new Error(`The contract has nothing at ${name}.`);
  return { ...resolve(document, target), ...value, $ref: undefined };
}

export const shownValue = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

export const listOf = (value: unknown): unknown[] => (value === undefined ? [] : [value].flat());

export const listAt = (value: object, key: string): unknown[] => {
  const list = (value as DocumentPart)[key];
  return Array.isArray(list) ? list : [];
};

export const partAt = (value: object, key: string): DocumentPart => {
  const record = (value as DocumentPart)[key];
  return isPart(record) ? record : {};
};

export const entriesOf = (value: object, key: string): [string, unknown][] => Object.entries(partAt(value, key));

export const isPart = (value: unknown): value is DocumentPart =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
