/**
 * Defines rules for records that use files of the library. Each context says how to find the title of its records, and when a use is live
 * (MED-14).
 */
import type { MediaUseKind } from '../../entities/media/values.ts';
import type { Sql } from '../../platform/infra/postgres/sql.ts';

/** SQL parts for statements about `media_uses use`. One statement combines the parts of all contexts. */
export interface MediaUseRule {
  /** The title of the record `use.place_id`. */
  title: Sql;
  /**
   * The condition under which a use is live. Lists show only live uses, and a file with a live use cannot be deleted. If the condition is
   * absent, every use is live.
   */
  isLive?: Sql;
  /** A live use prevents even a deletion with `force`. */
  blocksForce?: true;
}

export type MediaUseRules = Readonly<Partial<Record<MediaUseKind, MediaUseRule>>>;

export type AllMediaUseRules = Readonly<Record<MediaUseKind, MediaUseRule>>;
