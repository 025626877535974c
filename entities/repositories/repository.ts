/** A folder of files that a club gives to students. Students with access see the repository while it is published. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Media } from '../media/media.ts';
import { oneOf } from '../one-of.ts';
import { repositoryStatuses, type RepositoryStatus } from './values.ts';

@Entity('repositories')
@Check('repositories_status', oneOf('status', repositoryStatuses))
@Index('repositories_club_public_id', ['clubId', 'publicId'], { unique: true })
@Index('repositories_club_created', ['clubId', 'createdAt', 'id'])
@Index('repositories_cover', ['coverMediaId'], { where: 'cover_media_id IS NOT NULL' })
export class Repository {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The repository's name in classroom URLs, unique in the club. */
  @Column({ type: 'text' })
  publicId: string;

  @Column({ type: 'text' })
  title: string;

  /** The description in Markdown. Empty if the repository has no description. */
  @Column({ type: 'text', default: '' })
  description: string;

  /** The name of the instructor. Empty if the repository has no instructor. */
  @Column({ type: 'text', default: '' })
  instructorName: string;

  /** An image of the library. The table of uses also records that the repository uses the image (MED-14). */
  @Column({ type: 'uuid', nullable: true })
  coverMediaId: string | null;

  @Column({ type: 'text', default: 'draft' })
  status: RepositoryStatus;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The last publication. */
  @Column({ type: 'timestamptz', nullable: true })
  publishedAt: Date | null;

  /** The time of the last change of the row that a list shows (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Media, { onDelete: 'SET NULL' })
  coverMedia: Relation<Media>;
}
