/** The storage of a club's files by kind (MED-20). Triggers on `media` maintain it; it is exact only with the changes not yet merged. */
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { mediaKinds, type MediaKind } from './values.ts';

/** No reference to the club: the removal of the club is counted too. Additions lock one of the club's rows until the commit. */
@Entity('club_storage')
@Check('club_storage_kind', oneOf('kind', mediaKinds))
export class ClubStorage {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  kind: MediaKind;

  /** Bytes of complete originals that are not erased. */
  @Column({ type: 'bigint', default: 0 })
  bytes: string;

  /** The number of these originals. */
  @Column({ type: 'bigint', default: 0 })
  files: string;

  /** Bytes that open reservations hold. */
  @Column({ type: 'bigint', default: 0 })
  held: string;
}
