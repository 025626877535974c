/** The bodies of success responses. */
import type { Page } from '../../platform/infra/postgres/lists/page.ts';

/** One record. */
export function data<T>(record: T): { data: T } {
  return { data: record };
}

/** One page of a list, with its total (REC-2, REC-3). */
export function page<T>({ rows, total }: Page<T>): { data: T[]; total: number } {
  return { data: rows, total };
}

/** The same answer whether or not something was done, so callers cannot probe for accounts (DEC-13). */
export function accepted(_done: void): { data: { accepted: true } } {
  return { data: { accepted: true } };
}

/** No body. */
export function noContent(_done: void): undefined {
  return undefined;
}
