/** A file of an attempt. A file belongs to at most one attempt. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Media } from '../media/media.ts';
import { AssignmentAttempt } from './assignment-attempt.ts';

@Entity('assignment_attempt_files')
@Index('assignment_attempt_files_attempt', ['attemptId', 'position'], { unique: true })
export class AssignmentAttemptFile {
  @PrimaryColumn({ type: 'uuid' })
  mediaId: string;

  @Column({ type: 'uuid' })
  attemptId: string;

  /** From 0. */
  @Column({ type: 'smallint' })
  position: number;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  media: Relation<Media>;

  @ManyToOne(() => AssignmentAttempt, { onDelete: 'CASCADE' })
  attempt: Relation<AssignmentAttempt>;
}
