/** Answers that several operations share. */
import type { Listed } from '../../platform/infra/postgres/lists/page.ts';

/** The same for what was done and for what was not, so that it tells nothing (DESIGN §4). */
export const accepted = { data: { accepted: true as const } };

/** A page of a list (specification: Conventions). */
export function listed<T>({ rows, total }: Listed<T>): { data: T[]; total: number } {
  return { data: rows, total };
}
