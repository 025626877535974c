/** A file of the library in a repository, with its position. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Media } from '../media/media.ts';
import { Repository } from './repository.ts';

@Entity('repository_items')
@Index('repository_items_position', ['repositoryId', 'position'], { unique: true })
@Index('repository_items_media', ['mediaId'])
export class RepositoryItem {
  @PrimaryColumn({ type: 'uuid' })
  repositoryId: string;

  @PrimaryColumn({ type: 'uuid' })
  mediaId: string;

  /** From 0. */
  @Column({ type: 'smallint' })
  position: number;

  /** The time at which the file was added. This time does not change while the file stays in the repository. */
  @Column({ type: 'timestamptz' })
  addedAt: Date;

  @ManyToOne(() => Repository, { onDelete: 'CASCADE' })
  repository: Relation<Repository>;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  media: Relation<Media>;
}
