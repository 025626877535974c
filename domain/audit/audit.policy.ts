/** The rules of the audit log: what an entry contains, and how long it is kept (AUD-1 to AUD-4). */
import type { AuditedRecord } from '../../entities/audit/values.ts';

const day = 86_400_000;

export const auditRules = {
  /** The time for which an entry is kept. The trigger of the table uses the same time. */
  retentionMs: 400 * day,
  perExport: 10_000,
} as const;

/** @returns the names of the fields in the body, in alphabetical order. A file or a list has no names. */
export function fieldsOf(body: unknown): string[] {
  return isObject(body) ? Object.keys(body).toSorted() : [];
}

/**
 * @param params the path parameters, such as `{ clubId, studentId, tagId }`
 * @returns the records below the club, in the order of the path: `student`, `tag`
 */
export function recordsIn(params: Readonly<Record<string, string>>): AuditedRecord[] {
  return Object.entries(params)
    .filter(([name]) => name !== 'clubId')
    .map(([name, id]) => ({ kind: name.replace(/Id$/, ''), id }));
}

/**
 * @param answer the body of the answer: `{ data: { id } }`, or `{ data: { endpoint: { id }, secret } }`
 * @returns the record that the request created, unless its id is already in the path
 */
export function createdRecord(answer: unknown, known: readonly AuditedRecord[]): AuditedRecord[] {
  const data = isObject(answer) ? (answer['data'] ?? answer) : undefined;
  const id =
    idIn(data) ??
    (isObject(data)
      ? Object.values(data)
          .map(idIn)
          .find((found) => found !== undefined)
      : undefined);
  return id === undefined || known.some((record) => record.id === id) ? [] : [{ kind: 'created', id }];
}

function idIn(value: unknown): string | undefined {
  return isObject(value) && typeof value['id'] === 'string' ? value['id'] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
