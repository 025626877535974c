import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { MediaUseRules } from '../../media/use-rules.ts';

export const agentMediaUses = {
  agent: { title: sql`SELECT name FROM agents WHERE id = use.place_id` },
} as const satisfies MediaUseRules;
