/** A record that uses a library file. The row is written in the same transaction as the record (MED-14). */
import { Check, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Media } from './media.ts';
import { mediaUseKinds, type MediaUseKind } from './values.ts';

@Entity('media_uses')
@Check('media_uses_kind', oneOf('kind', mediaUseKinds))
@Index('media_uses_place', ['kind', 'placeId'])
export class MediaUse {
  @PrimaryColumn({ type: 'uuid' })
  mediaId: string;

  @PrimaryColumn({ type: 'text' })
  kind: MediaUseKind;

  /**
   * The id of the record that uses the file: a lesson, course, agent, campaign, automation, version, assignment, review, repository, space
   * or post.
   */
  @PrimaryColumn({ type: 'uuid' })
  placeId: string;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  media: Relation<Media>;
}
