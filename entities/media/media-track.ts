/** Subtitles of a video or sound of the library, one for each language (MED-33). */
import { Check, Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Media } from './media.ts';
import { trackKinds, trackMakers, type TrackKind, type TrackMaker } from './values.ts';

/** A row that goes, or gets another object, leaves its object to be erased: a trigger writes it to `leftover_objects`. */
@Entity('media_tracks')
@Check('media_tracks_kind', oneOf('kind', trackKinds))
@Check('media_tracks_made_by', oneOf('made_by', trackMakers))
export class MediaTrack {
  @PrimaryColumn({ type: 'uuid' })
  mediaId: string;

  /** BCP 47, in its canonical form, such as `pt-BR`. */
  @PrimaryColumn({ type: 'text' })
  language: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** What players call it. */
  @Column({ type: 'text' })
  label: string;

  @Column({ type: 'text' })
  kind: TrackKind;

  /** Where its WebVTT stands in the private bucket. */
  @Column({ type: 'text' })
  objectKey: string;

  @Column({ type: 'integer' })
  sizeBytes: number;

  /** Whether somebody has uploaded it, or a command has made it of the speech. A trigger keeps an uploaded one from the latter (MED-34). */
  @Column({ type: 'text', default: 'upload' })
  madeBy: TrackMaker;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @ManyToOne(() => Media, { onDelete: 'CASCADE' })
  media: Relation<Media>;
}
