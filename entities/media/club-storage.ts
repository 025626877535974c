/** What a club's files of a kind take (MED-20): kept by triggers on `media`, and exact only with the changes not yet rolled up. */
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { mediaKinds, type MediaKind } from './values.ts';

/** Without a reference to the club: its removal is counted too. The additions of a club hold one of its rows until the commit. */
@Entity('club_storage')
@Check('club_storage_kind', oneOf('kind', mediaKinds))
export class ClubStorage {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  kind: MediaKind;

  /** Of originals that are complete and not erased. */
  @Column({ type: 'bigint', default: 0 })
  bytes: string;

  /** How many originals those are. */
  @Column({ type: 'bigint', default: 0 })
  files: string;

  /** Bytes that open reservations hold. */
  @Column({ type: 'bigint', default: 0 })
  held: string;
}
