/** A request to make subtitles from a video's or sound's speech (MED-34). The row is deleted on success; after a failure it has an error code. */
import { Check, Column, Entity, Index, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Media } from './media.ts';

@Entity('media_transcriptions')
@Check('media_transcriptions_ended', '(error_code IS NULL) = (looks_at IS NOT NULL)')
@Index('media_transcriptions_looks_at', ['looksAt'], { where: 'looks_at IS NOT NULL' })
export class MediaTranscription {
  /** The file: it has one transcription at a time. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** BCP 47, in its canonical form, such as `pt-BR`. */
  @Column({ type: 'text' })
  language: string;

  /** The latest time at which its run must look at it; null once it has failed. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  /** Claims that were not released. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  /** The error code of a failed transcription. */
  @Column({ type: 'text', nullable: true })
  errorCode: string | null;

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
