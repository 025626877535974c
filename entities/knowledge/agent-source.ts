/**
 * A lesson or a file in the club's index. The row exists while the material of at least one agent names it. Each change of the content
 * increases `wanted_version`. After a version is indexed, `indexed_version` equals it.
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { sourceStatuses, type SourceKind, type SourceStatus, type SourceWarning } from './values.ts';
import { Club } from '../clubs/club.ts';
import { Lesson } from '../learning/lesson.ts';
import { Media } from '../media/media.ts';
import { oneOf } from '../one-of.ts';

@Entity('agent_sources')
@Check(
  'agent_sources_kind',
  `(kind = 'lesson' AND (lesson_id IS NULL) = (removed_at IS NOT NULL) AND media_id IS NULL) OR (kind = 'media' AND (media_id IS NULL) = (removed_at IS NOT NULL) AND lesson_id IS NULL)`,
)
@Check('agent_sources_removed', 'removed_at IS NULL OR looks_at IS NOT NULL')
@Check('agent_sources_status', oneOf('status', sourceStatuses))
@Check('agent_sources_error', `(error_code IS NOT NULL) = (status = 'failed')`)
@Index('agent_sources_club', ['clubId', 'createdAt', 'id'])
@Index('agent_sources_looks_at', ['looksAt'], { where: 'looks_at IS NOT NULL' })
@Index('agent_sources_ocr', ['ocrDueAt'], { where: 'ocr_due_at IS NOT NULL AND looks_at IS NULL' })
@Index('agent_sources_reader', ['readerVersion', 'clubId', 'id'], { where: 'looks_at IS NULL' })
export class AgentSource {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  kind: SourceKind;

  @Column({ type: 'uuid', nullable: true })
  @Index('agent_sources_lesson', { unique: true })
  lessonId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('agent_sources_media', { unique: true })
  mediaId: string | null;

  @Column({ type: 'text' })
  title: string;

  @Column({ type: 'text', default: 'pending' })
  status: SourceStatus;

  @Column({ type: 'text', nullable: true })
  errorCode: string | null;

  @Column({ type: 'integer', default: 1 })
  wantedVersion: number;

  /** The number of current passages; 0 before the first indexing. */
  @Column({ type: 'integer', default: 0 })
  indexedVersion: number;

  /** The number of attempts to index the wanted version. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  @Column({ type: 'integer', default: 0 })
  fence: number;

  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  /** The time by which the source's workflow must check the source again. Null if no work is left. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  /** The number of pages. Null if the source has no pages. */
  @Column({ type: 'integer', nullable: true })
  pageCount: number | null;

  @Column({ type: 'integer', default: 0 })
  passageCount: number;

  /** The warnings about content of the source that could not be read in the last reading. */
  @Column({ type: 'jsonb', default: [] })
  warnings: SourceWarning[];

  /** The version of the readers (`readerVersion`) that last read the source; 0 before the first reading. */
  @Column({ type: 'integer', default: 0 })
  readerVersion: number;

  /** The time at which OCR of the scanned pages is tried. Null if OCR was tried, or if the source has no scanned pages. */
  @Column({ type: 'timestamptz', nullable: true })
  ocrDueAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  indexedAt: Date | null;

  /**
   * The time at which the lesson or file was removed from the index. The run then deletes the other rows of the source, and finally this
   * row.
   */
  @Column({ type: 'timestamptz', nullable: true })
  removedAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Lesson, { onDelete: 'CASCADE' })
  lesson: Relation<Lesson>;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  media: Relation<Media>;
}
