/** A version of a file for screens, such as a smaller picture (MED-22). */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Media } from './media.ts';
import { renditionRoles, type RenditionRole } from './values.ts';

@Entity('media_renditions')
@Check('media_renditions_role', oneOf('role', renditionRoles))
export class MediaRendition {
  @PrimaryColumn({ type: 'uuid' })
  mediaId: string;

  /** The version of the rules that made the rendition. A later version replaces the rendition. */
  @PrimaryColumn({ type: 'smallint' })
  version: number;

  @PrimaryColumn({ type: 'text' })
  role: RenditionRole;

  /**
   * The key of the rendition in the bucket of its file. It is the file's own key, followed by the fencing token of the claim that made the
   * rendition.
   */
  @Column({ type: 'text' })
  objectKey: string;

  @Column({ type: 'text' })
  mime: string;

  @Column({ type: 'bigint' })
  sizeBytes: string;

  @Column({ type: 'integer' })
  width: number;

  @Column({ type: 'integer' })
  height: number;

  /** Whether a picture for e-mails shows only the first frame of an animation (DEC-157). False for other renditions. */
  @Column({ type: 'boolean', default: false })
  standsStill: boolean;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  media: Relation<Media>;
}
