/** That subtitles are to be made of a video's or sound's speech (MED-34). The row goes when they are made; one that failed says why. */
import { Check, Column, Entity, Index, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Media } from './media.ts';

@Entity('media_transcriptions')
@Check('media_transcriptions_ended', '(error_code IS NULL) = (looks_at IS NOT NULL)')
@Index('media_transcriptions_looks_at', ['looksAt'], { where: 'looks_at IS NOT NULL' })
export class MediaTranscription {
  /** The file's: subtitles of one language at a time are made of it. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** BCP 47, in its canonical form, such as `pt-BR`. */
  @Column({ type: 'text' })
  language: string;

  /** When its run must have looked; null once it has failed. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  /** Claims that were not given back. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  /** Why no subtitles were made: a code. */
  @Column({ type: 'text', nullable: true })
  errorCode: string | null;

  /** The fencing token: a later claim has a higher one (ENG-2). */
  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** Until when a worker makes them, unless it renews the lease. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @OneToOne(() => Media, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'id' })
  media: Relation<Media>;
}
