/** The words of media (specification: Media), and what a file may be. */

export const mediaKinds = ['video', 'audio', 'image', 'document'] as const;
/** A label for screens; it grants nothing. */
export type MediaKind = (typeof mediaKinds)[number];

export type MediaProvider = 'objstore';
export type MediaStatus = 'uploading' | 'processing' | 'ready' | 'failed';
export type MediaVisibility = 'private' | 'public';

/** What a file is for: the club's library, or a picture that a student shows an agent. */
export type MediaPurpose = 'library' | 'agent_image';
