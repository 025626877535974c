/** The uses of library files by repositories. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { MediaUsePlaces } from '../media/use-places.ts';

export const repositoryMediaUses = {
  repository: { title: sql`SELECT title FROM repositories WHERE id = use.place_id` },
} as const satisfies MediaUsePlaces;
