/** Answers that several operations share. */
import type { Page } from '../../platform/infra/postgres/lists/page.ts';

/** The same answer whether or not something was done, so callers cannot probe for accounts (DEC-13). */
export const accepted = { data: { accepted: true as const } };

/** One page of a list, with its total (REC-2, REC-3). */
export function listed<T>({ rows, total }: Page<T>): { data: T[]; total: number } {
  return { data: rows, total };
}
