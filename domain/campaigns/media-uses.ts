/** Defines how campaigns use library files. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { MediaUseRules } from '../media/use-rules.ts';

export const campaignMediaUses = {
  campaign: { title: sql`SELECT name FROM campaigns WHERE id = use.place_id` },
} as const satisfies MediaUseRules;
