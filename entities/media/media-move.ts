/**
 * A file's pending move to another bucket, because the file is made public or private (MED-25). The row is deleted when the file has moved.
 */
import { Check, Column, Entity, Index, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Media } from './media.ts';
import { mediaVisibilities, type MediaVisibility } from './values.ts';

@Entity('media_moves')
@Check('media_moves_visibility', oneOf('visibility', mediaVisibilities))
@Index('media_moves_looks_at', ['looksAt'])
export class MediaMove {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The visibility that was requested for the file. It may change during the move. */
  @Column({ type: 'text' })
  visibility: MediaVisibility;

  /** The key to which the claim copies the file. A later claim copies the file to a new key. */
  @Column({ type: 'text', nullable: true })
  targetKey: string | null;

  /** The time by which the run must check the move again. */
  @Column({ type: 'timestamptz' })
  looksAt: Date;

  /** The fencing token: a later claim has a higher token (ENG-2). */
  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The end of the lease, if the worker does not renew it. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @OneToOne(() => Media, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'id' })
  media: Relation<Media>;
}
