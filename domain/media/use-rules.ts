/**
 * The rules for records that use files of the library. Each context defines, for its own records, the title of the record and whether the
 * use is live (MED-14).
 */
import type { MediaUseKind } from '../../entities/media/values.ts';
import type { Sql } from '../../platform/infra/postgres/sql.ts';

/** Parts of statements about `media_uses use`. One statement combines the parts of all contexts. */
export interface MediaUseRule {
  /** A query that returns the title of the record `use.place_id`. */
  title: Sql;
  /** A condition. While the condition is true, lists show the use, and the file cannot be deleted. If absent, every use is live. */
  isLive?: Sql;
  /** If true, a live use prevents even a deletion with `force`. */
  blocksForce?: true;
}

/** The rules of one context's records. */
export type MediaUseRules = Readonly<Partial<Record<MediaUseKind, MediaUseRule>>>;

/** The rules of all contexts' records. */
export type AllMediaUseRules = Readonly<Record<MediaUseKind, MediaUseRule>>;
