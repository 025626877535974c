/** The values that columns of media may hold (MED-2 to MED-4). */

export const mediaKinds = ['video', 'audio', 'image', 'document'] as const;
/** A label for screens; it grants nothing. */
export type MediaKind = (typeof mediaKinds)[number];

export type MediaProvider = 'objstore';

export const mediaStatuses = ['uploading', 'processing', 'ready', 'failed'] as const;
export type MediaStatus = (typeof mediaStatuses)[number];

export const mediaVisibilities = ['private', 'public'] as const;
export type MediaVisibility = (typeof mediaVisibilities)[number];

/** What a file is for: the club's library, or a picture that a student shows an agent. */
export type MediaPurpose = 'library' | 'agent_image';
