/** That a file is to change its bucket: its publication, or the end of it (MED-25). The row goes when the file has moved. */
import { Check, Column, Entity, Index, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Media } from './media.ts';
import { mediaVisibilities, type MediaVisibility } from './values.ts';

@Entity('media_moves')
@Check('media_moves_visibility', oneOf('visibility', mediaVisibilities))
@Index('media_moves_looks_at', ['looksAt'])
export class MediaMove {
  /** The file's: it has one move at a time. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** What the file is to become; it may change while the file moves. */
  @Column({ type: 'text' })
  visibility: MediaVisibility;

  /** Where the claim copies the file to; a later claim copies to another key. */
  @Column({ type: 'text', nullable: true })
  targetKey: string | null;

  /** When its run must have looked. */
  @Column({ type: 'timestamptz' })
  looksAt: Date;

  /** The fencing token: a later claim has a higher one (ENG-2). */
  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** Until when a worker moves it, unless it renews the lease. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @OneToOne(() => Media, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'id' })
  media: Relation<Media>;
}
