/**
 * The storage of a club's files by kind (MED-20). Triggers on `media` update the row. Its numbers are exact only together with the changes
 * that are not merged yet.
 */
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { mediaKinds, type MediaKind } from './values.ts';

/**
 * The row has no foreign key to the club. When a club is removed, the bytes of its files are still counted down in this table. A
 * transaction that adds bytes locks one of the club's rows until the commit.
 */
@Entity('club_storage')
@Check('club_storage_kind', oneOf('kind', mediaKinds))
export class ClubStorage {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  kind: MediaKind;

  /** The number of bytes of complete originals that are not erased. */
  @Column({ type: 'bigint', default: 0 })
  bytes: string;

  /** The number of complete originals that are not erased. */
  @Column({ type: 'bigint', default: 0 })
  files: string;

  /** The number of bytes that open reservations take up. */
  @Column({ type: 'bigint', default: 0 })
  held: string;
}
