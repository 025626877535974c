/** A folder of a club's library (MED-15). Foreign keys prevent the deletion of a folder with content. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('media_folders')
@Check('media_folders_parent', 'parent_id <> id')
@Index('media_folders_top_name', ['clubId', 'foldedName'], { unique: true, where: 'parent_id IS NULL' })
@Index('media_folders_name', ['parentId', 'foldedName'], { unique: true, where: 'parent_id IS NOT NULL' })
@Index('media_folders_club', ['clubId', 'foldedName', 'id'])
export class MediaFolder {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The parent folder. Null for a folder at the top of the library. */
  @Column({ type: 'uuid', nullable: true })
  parentId: string | null;

  @Column({ type: 'text' })
  name: string;

  /** The name in folded case, which is unique in the parent. */
  @Column({ type: 'text' })
  foldedName: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => MediaFolder, { onDelete: 'NO ACTION' })
  parent: Relation<MediaFolder>;
}
