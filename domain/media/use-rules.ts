/**
 * The rules for records that use files of the library. For its own records, each context defines how to find the title of a record, and
 * when a use is live (MED-14).
 */
import type { MediaUseKind } from '../../entities/media/values.ts';
import type { Sql } from '../../platform/infra/postgres/sql.ts';

/** SQL parts for statements about `media_uses use`. One statement combines the parts of all contexts. */
export interface MediaUseRule {
  /** A query that returns the title of the record `use.place_id`. */
  title: Sql;
  /**
   * The condition under which a use is live. Lists show only live uses, and a file with a live use cannot be deleted. If the condition is
   * absent, every use is live.
   */
  isLive?: Sql;
  /** If true, a live use prevents even a deletion with `force`. */
  blocksForce?: true;
}

/** The rules for the records of one context. */
export type MediaUseRules = Readonly<Partial<Record<MediaUseKind, MediaUseRule>>>;

/** The rules for the records of all contexts. */
export type AllMediaUseRules = Readonly<Record<MediaUseKind, MediaUseRule>>;
