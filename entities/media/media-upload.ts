/**
 * An open upload through our listener: its lock, and the parts of a resumable upload (MED-26, MED-29). The row is deleted when the file has
 * arrived or is erased.
 */
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Media } from './media.ts';

@Entity('media_uploads')
@Index('media_uploads_club', ['clubId'])
export class MediaUpload {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The store's id of the upload; null until a client has begun the upload, and after a client has abandoned it. */
  @Column({ type: 'text', nullable: true })
  multipartId: string | null;

  /** The fencing token of the upload's lock: a later holder of the lock has a higher token (ENG-2). */
  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The end of the lock's lease, if the holder does not renew it. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'id' })
  media: Relation<Media>;
}
