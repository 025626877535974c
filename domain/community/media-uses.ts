/** Defines how spaces and posts use library files. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { MediaUseRules } from '../media/use-rules.ts';

export const communityMediaUses = {
  space: { title: sql`SELECT name FROM community_spaces WHERE id = use.place_id` },
  post: {
    title: sql`SELECT coalesce(post.title, space.name) FROM community_posts post
      JOIN community_spaces space ON space.id = post.space_id WHERE post.id = use.place_id`,
  },
} as const satisfies MediaUseRules;
