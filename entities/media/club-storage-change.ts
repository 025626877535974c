/**
 * The amount by which a statement changed a club's storage. Triggers on `media` only add rows to this table, so that erasures of files
 * never wait for one another.
 */
import { Check, Column, Entity, Generated, PrimaryColumn } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { mediaKinds, type MediaKind } from './values.ts';

@Entity('club_storage_changes')
@Check('club_storage_changes_kind', oneOf('kind', mediaKinds))
export class ClubStorageChange {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  @Column({ type: 'text' })
  kind: MediaKind;

  @Column({ type: 'bigint' })
  bytes: string;

  @Column({ type: 'bigint' })
  files: string;

  @Column({ type: 'bigint' })
  held: string;
}
