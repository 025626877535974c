/** Defines how a club uses a library file as its logo. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { MediaUseRules } from '../media/use-rules.ts';

export const clubMediaUses = {
  branding: { title: sql`SELECT name FROM clubs WHERE id = use.place_id` },
} as const satisfies MediaUseRules;
