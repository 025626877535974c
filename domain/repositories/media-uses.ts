/** Defines how repositories use library files. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { MediaUseRules } from '../media/use-rules.ts';

export const repositoryMediaUses = {
  repository: { title: sql`SELECT title FROM repositories WHERE id = use.place_id` },
} as const satisfies MediaUseRules;
