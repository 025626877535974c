/** The answers of contexts about records that use files of the library: their titles, and whether a use is live (MED-14). */
import type { MediaUseKind } from '../../entities/media/values.ts';
import type { Sql } from '../../platform/infra/postgres/sql.ts';

/** Pieces of the statements about `media_uses use`, so that one statement reads the uses of all contexts. */
export interface MediaUsePlace {
  /** A query of one value, the title of the place `use.place_id`. */
  title: Sql;
  /** A condition: whether lists show the use, and a deletion of the file is refused. Absent: as long as the row of the use exists. */
  isLive?: Sql;
  /** A deletion with `force` is refused while such a use is live. */
  outlastsForce?: true;
}

/** The places that a context has. */
export type MediaUsePlaces = Readonly<Partial<Record<MediaUseKind, MediaUsePlace>>>;

/** The places of all contexts. */
export type EveryMediaUsePlace = Readonly<Record<MediaUseKind, MediaUsePlace>>;
