/**
 * Defines rules for records that use files of the library. Each context says how to find the title of its records, and when a use is live
 * (MED-14).
 */
import type { MediaUseKind } from '../../entities/media/values.ts';
import type { Sql } from '../../platform/infra/postgres/sql.ts';

/** Parts of statements about `media_uses use`. One statement combines those of all contexts. */
export interface MediaUseRule {
  /** The title of the record `use.place_id`. */
  title: Sql;
  /** Lists show only live uses, and a file with one cannot be deleted. Without this condition, every use is live. */
  isLive?: Sql;
  /** A live use prevents even a deletion with `force`. */
  blocksForce?: true;
}

export type MediaUseRules = Readonly<Partial<Record<MediaUseKind, MediaUseRule>>>;

export type AllMediaUseRules = Readonly<Record<MediaUseKind, MediaUseRule>>;
