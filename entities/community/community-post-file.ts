/**
 * A file that a student attached to a post of their own. Library files in posts of administrators are recorded as uses instead (MED-14).
 */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Media } from '../media/media.ts';
import { CommunityPost } from './community-post.ts';

@Entity('community_post_files')
@Index('community_post_files_post', ['postId', 'position'], { unique: true })
export class CommunityPostFile {
  /** A file belongs to one post. */
  @PrimaryColumn({ type: 'uuid' })
  mediaId: string;

  @Column({ type: 'uuid' })
  postId: string;

  @Column({ type: 'smallint' })
  position: number;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  media: Relation<Media>;

  @ManyToOne(() => CommunityPost, { onDelete: 'CASCADE' })
  post: Relation<CommunityPost>;
}
