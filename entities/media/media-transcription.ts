/**
 * A request to make subtitles from the speech in a video or sound (MED-34). The row is deleted when the subtitles are made. After a
 * failure, the row has an error code.
 */
import { Check, Column, Entity, Index, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Media } from './media.ts';

@Entity('media_transcriptions')
@Check('media_transcriptions_ended', '(error_code IS NULL) = (looks_at IS NOT NULL)')
@Index('media_transcriptions_looks_at', ['looksAt'], { where: 'looks_at IS NOT NULL' })
export class MediaTranscription {
  /** The file. A file has only one transcription at a time. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** A BCP 47 tag in its canonical form, such as `pt-BR`. */
  @Column({ type: 'text' })
  language: string;

  /** The time by which the run must check the transcription again. Null after the transcription has failed. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  /** The number of claims that were not released. For example, a worker that dies does not release its claim. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  @Column({ type: 'text', nullable: true })
  errorCode: string | null;

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
