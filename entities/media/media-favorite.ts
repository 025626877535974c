/** A file of the library that an administrator has marked as a favorite (MED-11). */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Administrator } from '../identity/administrator.ts';
import { Media } from './media.ts';

@Entity('media_favorites')
@Index('media_favorites_media', ['mediaId'])
export class MediaFavorite {
  @PrimaryColumn({ type: 'uuid' })
  administratorId: string;

  @PrimaryColumn({ type: 'uuid' })
  mediaId: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  administrator: Relation<Administrator>;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  media: Relation<Media>;
}
