/** Defines how lessons and courses use library files. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { MediaUseRules } from '../media/use-rules.ts';

export const learningMediaUses = {
  lesson: { title: sql`SELECT title FROM lessons WHERE id = use.place_id` },
  course: { title: sql`SELECT title FROM courses WHERE id = use.place_id` },
} as const satisfies MediaUseRules;
