/** A file's pending move to another bucket, for its publication or the end of it (MED-25). The row is deleted when the file has moved. */
import { Check, Column, Entity, Index, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Media } from './media.ts';
import { mediaVisibilities, type MediaVisibility } from './values.ts';

@Entity('media_moves')
@Check('media_moves_visibility', oneOf('visibility', mediaVisibilities))
@Index('media_moves_looks_at', ['looksAt'])
export class MediaMove {
  /** The file: it has one move at a time. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The target state of the file; it may change during the move. */
  @Column({ type: 'text' })
  visibility: MediaVisibility;

  /** The key to which the claim copies the file; a later claim copies to another key. */
  @Column({ type: 'text', nullable: true })
  targetKey: string | null;

  /** The latest time at which its run must look at it. */
  @Column({ type: 'timestamptz' })
  looksAt: Date;

  /** The fencing token: a later claim has a higher one (ENG-2). */
  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The end of the lease, unless the worker renews it. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @OneToOne(() => Media, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'id' })
  media: Relation<Media>;
}
