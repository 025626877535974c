/** Subtitles of a video or sound of the library, one per language (MED-33). */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Media } from './media.ts';
import { trackKinds, trackMakers, type TrackKind, type TrackMaker } from './values.ts';

/** When a row is deleted or gets another object, a trigger writes its old object to `leftover_objects` for erasure. */
@Entity('media_tracks')
@Check('media_tracks_kind', oneOf('kind', trackKinds))
@Check('media_tracks_made_by', oneOf('made_by', trackMakers))
export class MediaTrack {
  @PrimaryColumn({ type: 'uuid' })
  mediaId: string;

  /** A BCP 47 tag in its canonical form, such as `pt-BR`. */
  @PrimaryColumn({ type: 'text' })
  language: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The name of the track in players. */
  @Column({ type: 'text' })
  label: string;

  @Column({ type: 'text' })
  kind: TrackKind;

  /** The key of the track's WebVTT file in the private bucket. */
  @Column({ type: 'text' })
  objectKey: string;

  @Column({ type: 'integer' })
  sizeBytes: number;

  /**
   * Whether a person uploaded the track or a command transcribed it. A trigger prevents a transcription from replacing an uploaded track
   * (MED-34).
   */
  @Column({ type: 'text', default: 'upload' })
  madeBy: TrackMaker;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  media: Relation<Media>;
}
