/** The values that columns of media may hold (MED-2 to MED-4). */

export const mediaKinds = ['video', 'audio', 'image', 'document'] as const;
/** A label that screens show. It has no effect on permissions. */
export type MediaKind = (typeof mediaKinds)[number];

/** The providers of content on other sites. The column `external_id` names this content. */
export const referenceProviders = ['videosite1', 'videosite2', 'external', 'protectedvideo'] as const;
export type ReferenceProvider = (typeof referenceProviders)[number];

/** `hostedvideo_stream` and `objstore` store files in the buckets of this service. The other providers only refer to content elsewhere. */
export const mediaProviders = ['hostedvideo_stream', 'objstore', ...referenceProviders] as const;
export type MediaProvider = (typeof mediaProviders)[number];

export const screenTypes = ['video', 'image', 'audio', 'pdf', 'file', 'embed'] as const;
export type ScreenType = (typeof screenTypes)[number];

/** The screen type that Postgres derives from provider, kind, type and extension (MED-4). */
export const screenTypeExpression = `CASE WHEN provider IN ('videosite1', 'videosite2', 'external') THEN 'embed' WHEN provider IN ('hostedvideo_stream', 'protectedvideo') THEN 'video' WHEN kind <> 'document' THEN kind WHEN mime = 'application/pdf' OR (coalesce(mime, 'application/octet-stream') = 'application/octet-stream' AND lower(right(file_name, 4)) = '.pdf') THEN 'pdf' ELSE 'file' END`;

export const mediaStatuses = ['uploading', 'processing', 'ready', 'failed'] as const;
export type MediaStatus = (typeof mediaStatuses)[number];

export const mediaVisibilities = ['private', 'public'] as const;
export type MediaVisibility = (typeof mediaVisibilities)[number];

/**
 * The purpose of a file: the club's library, a student's picture for an agent, a student's submission or post, or the student's own
 * picture.
 */
export type MediaPurpose = 'library' | 'agent_image' | 'assignment' | 'post' | 'avatar';

/** The kinds of records that can use a file of the library (MED-14). */
export const mediaUseKinds = [
  'lesson',
  'course',
  'agent',
  'campaign',
  'automation',
  'automation_version',
  'assignment',
  'assignment_review',
  'repository',
  'space',
  'post',
  'branding',
] as const;
export type MediaUseKind = (typeof mediaUseKinds)[number];

/** The renditions of a file for screens (MED-22), and for e-mails (DEC-157). */
export const renditionRoles = ['preview', 'thumbnail', 'video', 'mail'] as const;
export type RenditionRole = (typeof renditionRoles)[number];

/** The content of a track: only the spoken words, or also a description of sounds. */
export const trackKinds = ['subtitles', 'captions'] as const;
export type TrackKind = (typeof trackKinds)[number];

export const trackMakers = ['upload', 'command'] as const;
export type TrackMaker = (typeof trackMakers)[number];

/** The reasons why an image cannot have a picture for e-mails (DEC-157). */
const mailPictureProblems = ['image_unreadable', 'image_too_large', 'image_too_heavy'] as const;
export type MailPictureProblem = (typeof mailPictureProblems)[number];

/** The state of an image's picture for e-mails. */
export const mailPictureStates = ['made', ...mailPictureProblems] as const;
export type MailPictureState = (typeof mailPictureStates)[number];

/**
 * The reasons why no subtitles were made from a file's speech. The cause is the file or the output of the command, so the run does not try
 * again until a new request comes.
 */
export type TranscriptionError =
  | 'no_sound'
  | 'no_speech'
  | 'subtitles_invalid'
  | 'command_failed'
  | 'too_many_tracks'
  | 'file_missing';
