/** A file of a club's library or of one of its students (MED-1). */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import {
  mailPictureStates,
  mediaVisibilities,
  mediaStatuses,
  mediaKinds,
  mediaProviders,
  referenceProviders,
  screenTypeExpression,
  type MailPictureState,
  type MediaKind,
  type MediaProvider,
  type MediaPurpose,
  type MediaStatus,
  type MediaVisibility,
  type ScreenType,
} from './values.ts';
import { Club } from '../clubs/club.ts';
import { Student } from '../identity/student.ts';
import { oneOf } from '../one-of.ts';
import { MediaFolder } from './media-folder.ts';

@Entity('media')
@Index('media_changed', ['clubId', 'changedAt'], { where: `purpose = 'library' AND removed_at IS NULL` })
@Check(
  'media_purpose',
  `(purpose = 'library' AND owner_id IS NULL) OR (purpose in ('agent_image', 'assignment', 'post', 'avatar') AND owner_id IS NOT NULL)`,
)
@Check('media_kind', oneOf('kind', mediaKinds))
@Check('media_provider', oneOf('provider', mediaProviders))
@Check('media_reference', `(external_id IS NOT NULL) = (${oneOf('provider', referenceProviders)})`)
@Check('media_reference_stored', `external_id IS NULL OR (purpose = 'library' AND object_key IS NULL)`)
@Check('media_status', oneOf('status', mediaStatuses))
@Check('media_visibility', oneOf('visibility', mediaVisibilities))
@Check('media_published', `visibility = 'private' OR purpose = 'library'`)
@Check('media_bucket', `object_key IS NULL OR (object_key LIKE 'public/%') = (visibility = 'public')`)
@Check('media_error', `(error IS NOT NULL) = (status = 'failed')`)
@Index('media_library', ['clubId', 'archived', 'createdAt', 'id'], {
  where: `purpose = 'library' AND removed_at IS NULL`,
})
@Index('media_library_type', ['clubId', 'archived', 'type', 'createdAt', 'id'], {
  where: `purpose = 'library' AND removed_at IS NULL`,
})
@Index('media_library_top', ['clubId', 'archived', 'type', 'createdAt', 'id'], {
  where: `purpose = 'library' AND removed_at IS NULL AND folder_id IS NULL`,
})
@Index('media_search', { synchronize: false })
@Index('media_title_folded', { synchronize: false })
@Index('media_file_name_folded', { synchronize: false })
@Index('media_to_fold', ['id'], {
  where: `(title_folded IS NULL AND searched_spelling(title) <> lower(title)) OR (file_name_folded IS NULL AND searched_spelling(file_name) <> lower(file_name))`,
})
@Index('media_folder', ['folderId', 'archived', 'type', 'createdAt', 'id'], { where: 'folder_id IS NOT NULL' })
@Index('media_owner', ['ownerId'], { where: 'owner_id IS NOT NULL' })
@Index('media_avatar', ['ownerId'], {
  unique: true,
  where: `purpose = 'avatar' AND status = 'ready' AND removed_at IS NULL`,
})
@Index('media_addresses', ['clubId', 'uploadExpiresAt'], { where: 'address_bytes IS NOT NULL' })
@Index('media_erases_at', ['erasesAt'], { where: 'erases_at IS NOT NULL' })
@Index('media_looks_at', ['looksAt'], { where: 'looks_at IS NOT NULL' })
@Index('media_unprocessed', ['id'], {
  where: `status = 'ready' AND processed_at IS NULL AND looks_at IS NULL AND removed_at IS NULL AND object_key IS NOT NULL`,
})
@Index('media_unexamined', ['id'], {
  where: `status = 'ready' AND examined < 1 AND kind IN ('image', 'video') AND purpose IN ('library', 'assignment', 'post') AND looks_at IS NULL AND renditions_due_at IS NULL AND removed_at IS NULL AND object_key IS NOT NULL`,
})
@Index('media_renditions_due', ['renditionsDueAt'], { where: 'renditions_due_at IS NOT NULL AND removed_at IS NULL' })
@Check('media_mail_picture', oneOf('mail_picture', mailPictureStates))
@Index('media_mail_picture_unknown', ['id'], {
  where: `mail_picture IS NULL AND purpose = 'library' AND kind = 'image' AND status = 'ready' AND processed_at IS NOT NULL AND object_key IS NOT NULL AND removed_at IS NULL`,
})
@Check('media_crc32', 'crc32 BETWEEN 0 AND 4294967295')
@Check('media_sha256', 'octet_length(sha256) = 32')
@Index('media_expiry', ['expiryLooksAt'], { where: 'expiry_looks_at IS NOT NULL AND removed_at IS NULL' })
@Index('media_warned', ['clubId', 'expiryWarnedAt'], { where: 'expiry_warned_at IS NOT NULL' })
@Index('media_videos', ['clubId', 'id'], { where: `kind = 'video' AND purpose = 'library' AND removed_at IS NULL` })
@Check('media_expires', 'expiry_looks_at IS NULL OR expires_at IS NOT NULL')
@Check('media_held', 'held_bytes >= 0')
@Check('media_erased', 'erases_at IS NULL OR object_key IS NOT NULL')
@Index('media_all_of_club', ['clubId'])
export class Media {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The purpose: `library` files belong to the club, all others to a student. */
  @Column({ type: 'text' })
  purpose: MediaPurpose;

  /** The student who owns the file. Null for the club's own files. */
  @Column({ type: 'uuid', nullable: true })
  ownerId: string | null;

  @Column({ type: 'text' })
  kind: MediaKind;

  @Column({ type: 'text' })
  title: string;

  /** The folded text (docs/adr/0061-search-in-every-script.md); null if it is equal to the lower-case text. A trigger writes it. */
  @Column({ type: 'text', nullable: true, select: false, insert: false, update: false })
  titleFolded: string | null;

  @Column({ type: 'text' })
  provider: MediaProvider;

  @Column({ type: 'text' })
  status: MediaStatus;

  @Column({ type: 'text', default: 'private' })
  visibility: MediaVisibility;

  @Column({ type: 'boolean', default: false })
  archived: boolean;

  @Column({ type: 'text', nullable: true })
  fileName: string | null;

  /** The folded text (docs/adr/0061-search-in-every-script.md); null if it is equal to the lower-case text. A trigger writes it. */
  @Column({ type: 'text', nullable: true, select: false, insert: false, update: false })
  fileNameFolded: string | null;

  /** The media type. Until the file has arrived, it is the type that the client announced; afterwards, it is the type of the content. */
  @Column({ type: 'text', nullable: true })
  mime: string | null;

  /**
   * The final size in bytes. Null until the size is known for certain. From then until the file is erased, the club's storage includes this
   * size (MED-20).
   */
  @Column({ type: 'bigint', nullable: true })
  sizeBytes: string | null;

  /** The number of bytes that the file reserves in the club's storage until its size is known (MED-21). Null without a reservation. */
  @Column({ type: 'bigint', nullable: true })
  heldBytes: string | null;

  /**
   * The number of bytes that the signed upload address accepts. A deleted file still counts with these bytes until the address expires.
   * Null after that, and for uploads through our own listener, because the listener refuses the bytes of a deleted file.
   */
  @Column({ type: 'bigint', nullable: true })
  addressBytes: string | null;

  @Column({ type: 'integer', nullable: true })
  width: number | null;

  @Column({ type: 'integer', nullable: true })
  height: number | null;

  @Column({ type: 'text', nullable: true })
  error: string | null;

  /** For a reference to content elsewhere: the id of the content at its provider, or its address. */
  @Column({ type: 'text', nullable: true })
  externalId: string | null;

  /** The type for screens. Postgres computes this value, so that lists can filter by it. */
  @Column({
    type: 'text',
    nullable: true,
    insert: false,
    update: false,
    generatedType: 'STORED',
    asExpression: screenTypeExpression,
  })
  type: ScreenType;

  /** The folder of the file. Null at the top of the library, and after the file was removed. */
  @Column({ type: 'uuid', nullable: true })
  folderId: string | null;

  /** The time at which a recording will be removed, because the club's plan does not include recordings. Null for files that stay. */
  @Column({ type: 'timestamptz', nullable: true })
  expiresAt: Date | null;

  /** The object key of the file, which also names the bucket (MED-5). Null after the file was erased, and for a reference. */
  @Column({ type: 'text', nullable: true })
  objectKey: string | null;

  /**
   * The time at which the bucket must erase the file: for example because it never arrived, failed or was removed, or because no question
   * or submission uses it. Null while the file stays, and after the bucket certainly has no part of it.
   */
  @Column({ type: 'timestamptz', nullable: true })
  erasesAt: Date | null;

  /**
   * The time at which the bucket first confirmed the erasure. The key may stay longer, for further erasures after the upload's address has
   * expired.
   */
  @Column({ type: 'timestamptz', nullable: true })
  erasedAt: Date | null;

  /**
   * The time at which the expiry run of the file next checks the file. This run first warns the administrators and later removes the
   * file. Null for files that stay (MED-10).
   */
  @Column({ type: 'timestamptz', nullable: true })
  expiryLooksAt: Date | null;

  /** The time at which the administrators were warned of the file's expiry. */
  @Column({ type: 'timestamptz', nullable: true })
  expiryWarnedAt: Date | null;

  /** The time by which the processing must check the file again. Null if no work is left. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  /** The fencing token of the processing: a later claim has a higher token (ENG-2). */
  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The end of the processing lease, if the worker does not renew it. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  /**
   * The number of errors since the last successful step. A failure of the work counts as an error, and so does a claim whose process died.
   */
  @Column({ type: 'smallint', default: 0 })
  faultCount: number;

  /** The time at which the processing ended. Null if the file was never processed completely. */
  @Column({ type: 'timestamptz', nullable: true })
  processedAt: Date | null;

  /**
   * The version of the rules of the last complete examination of the file (MED-30). 0 for older files, and before the processing has ended.
   */
  @Column({ type: 'smallint', default: 0 })
  examined: number;

  /** The time at which the missing renditions of a ready file are tried again. Null if no rendition is missing, or if none can be made. */
  @Column({ type: 'timestamptz', nullable: true })
  renditionsDueAt: Date | null;

  /**
   * For an image of the library, whether it has a picture for e-mails, or the reason why it has none. Null until this is known (DEC-157).
   */
  @Column({ type: 'text', nullable: true })
  mailPicture: MailPictureState | null;

  /** The digest of the whole content; null until it is known. */
  @Column({ type: 'bytea', nullable: true })
  sha256: Buffer | null;

  /** The CRC-32 of the whole content, unsigned, as in ZIP archives; null until it is known. */
  @Column({ type: 'bigint', nullable: true })
  crc32: string | null;

  /** The duration of the audio or video; null until the duration is known. */
  @Column({ type: 'integer', nullable: true })
  durationMs: number | null;

  /** The time at which the address of the upload expires. */
  @Column({ type: 'timestamptz', nullable: true })
  uploadExpiresAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  removedAt: Date | null;

  /** The time of the last change of the row that a list shows (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  owner: Relation<Student>;

  @ManyToOne(() => MediaFolder, { onDelete: 'NO ACTION' })
  folder: Relation<MediaFolder>;
}
