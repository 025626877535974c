/**
 * An upload through our listener that is open: who writes it, and where the parts of a resumable one are (MED-26, MED-29). It goes when
 * the file has arrived or is erased.
 */
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Media } from './media.ts';

@Entity('media_uploads')
@Index('media_uploads_club', ['clubId'])
export class MediaUpload {
  /** The file's. */
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The name that the store gave the upload; null until a client has begun it, and once a client has given it up. */
  @Column({ type: 'text', nullable: true })
  multipartId: string | null;

  /** The fencing token of its lock: a later holder has a higher one (ENG-2). */
  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** Until when somebody holds its lock, unless they renew the lease. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'id' })
  media: Relation<Media>;
}
