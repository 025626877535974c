/** Files of a club's library, the images that students show to agents, and the avatars of students. */
import * as avatars from '../../../domain/media/purposes/avatars.ts';
import * as completion from '../../../domain/media/uploads/completion.ts';
import * as erasure from '../../../domain/media/erasure/erasure.ts';
import * as folders from '../../../domain/media/library/folders.ts';
import * as library from '../../../domain/media/library/library.ts';
import { Redirect } from '../../../contract/contract.ts';
import { movingRules } from '../../../domain/media/processing.policy.ts';
import * as publishing from '../../../domain/media/library/publishing.ts';
import * as references from '../../../domain/media/library/references.ts';
import * as replacing from '../../../domain/media/library/replacing.ts';
import * as reservation from '../../../domain/media/uploads/reservation.ts';
import * as transcriptions from '../../../domain/media/transcriptions/requests.ts';
import * as tracks from '../../../domain/media/library/tracks.ts';
import * as uses from '../../../domain/media/uses/uses.ts';
import * as storage from '../../../domain/media/storage/storage.ts';
import type { MediaOwner } from '../../../domain/media/media.ts';
import type { Actor, AnswerWith, Caller, Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listMedia: Operation<'listMedia'> = async ({ params, query, actor, db, deps }) =>
  page(await library.listMedia({ ...deps, db }, readerOf(params, actor), query));

export const reserveMedia: Operation<'reserveMedia'> = async ({ params, body, deps, now }) =>
  reservation.reserveMedia(deps, params.clubId, announcedBy(body), now);

export const getMedia: Operation<'getMedia'> = async ({ params, actor, db, deps }) =>
  data(await library.findMedia({ ...deps, db }, readerOf(params, actor), params.mediaId));

export const updateMedia: Operation<'updateMedia'> = async ({ params, actor, body, deps, now }) =>
  data(await library.updateMedia(deps, readerOf(params, actor), params.mediaId, body, now));

export const createMediaReference: Operation<'createMediaReference'> = async (call) => {
  const { params, actor, body, deps, now } = call;
  return data(await references.createReference(deps, readerOf(params, actor), body, now));
};

export const listMediaFolders: Operation<'listMediaFolders'> = async ({ params, query, db }) =>
  page(await folders.listFolders(db, params.clubId, query));

export const createMediaFolder: Operation<'createMediaFolder'> = async ({ params, body, deps, now }) =>
  data(await folders.createFolder(deps, params.clubId, body, now));

export const updateMediaFolder: Operation<'updateMediaFolder'> = async ({ params, body, deps, now }) =>
  data(await folders.updateFolder(deps, params.clubId, params.folderId, body, now));

export const deleteMediaFolder: Operation<'deleteMediaFolder'> = async ({ params, deps }) =>
  noContent(await folders.deleteFolder(deps, params.clubId, params.folderId));

export const replaceMedia: Operation<'replaceMedia'> = async ({ params, actor, body, deps, now }) =>
  data(await replacing.replaceMedia(deps, readerOf(params, actor), params.mediaId, body, now));

export const publishMedia: Operation<'publishMedia'> = async ({ params, actor, deps, now }) =>
  data(await publishing.moveMedia(deps, readerOf(params, actor), params.mediaId, 'public', now));

export const unpublishMedia: Operation<'unpublishMedia'> = async ({ params, actor, deps, now }) =>
  data(await publishing.moveMedia(deps, readerOf(params, actor), params.mediaId, 'private', now));

export const openPublicMedia: Operation<'openPublicMedia'> = async ({ params, db, deps, answerWith }) =>
  leadOn(answerWith, await publishing.findPublicFile(db, deps.storage, params.mediaId, 'preview'));

export const openPublicThumbnail: Operation<'openPublicThumbnail'> = async ({ params, db, deps, answerWith }) =>
  leadOn(answerWith, await publishing.findPublicFile(db, deps.storage, params.mediaId, 'thumbnail'));

function leadOn(answerWith: AnswerWith, { location, tag }: { location: string; tag: string }): Redirect {
  answerWith('ETag', tag);
  answerWith('Cache-Control', `public, max-age=${movingRules.linkSeconds}`);
  return new Redirect(location);
}

export const listMediaUsage: Operation<'listMediaUsage'> = async ({ params, query, db, deps }) =>
  page(await uses.usesOf({ ...deps, db }, params.clubId, params.mediaId, query));

export const putMediaTrack: Operation<'putMediaTrack'> = async ({ params, body, deps, now }) =>
  data(await tracks.putTrack(deps, params, body, now));

export const createMediaTrack: Operation<'createMediaTrack'> = async ({ params, body, deps, now }) =>
  data(await transcriptions.requestTranscription(deps, params, body, now));

export const removeMediaTrack: Operation<'removeMediaTrack'> = async ({ params, deps, now }) =>
  noContent(await tracks.removeTrack(deps, params, now));

export const removeMedia: Operation<'removeMedia'> = async ({ params, query, deps, now }) =>
  noContent(await erasure.removeMedia(deps, params.clubId, params.mediaId, now, query));

/** Administrators complete files of the library, students their own images. */
export const completeMedia: Operation<'completeMedia'> = async ({ params, caller, deps, now, chargeChange }) => {
  const watching = { ...deps, watchMs: deps.completionWatchMs };
  return data(await completion.completeMedia(watching, ownerOf(params, caller), params.mediaId, now, chargeChange));
};

/** Everyone who may complete a file may also renew its upload. */
export const renewUpload: Operation<'renewUpload'> = async ({ params, caller, deps, now, chargeChange }) =>
  reservation.renewUpload(deps, ownerOf(params, caller), params.mediaId, now, chargeChange);

export const reserveAgentImage: Operation<'reserveAgentImage'> = async ({ params, student, body, deps, now }) =>
  reservation.reserveAgentImage(deps, { clubId: params.clubId, studentId: student.id }, announcedBy(body), now);

export const reserveAvatar: Operation<'reserveAvatar'> = async ({ params, student, body, deps, now }) =>
  reservation.reserveAvatar(deps, { clubId: params.clubId, studentId: student.id }, announcedBy(body), now);

export const deleteAvatar: Operation<'deleteAvatar'> = async ({ params, student, deps, now }) =>
  noContent(await avatars.deleteAvatar(deps, { clubId: params.clubId, studentId: student.id }, now));

function announcedBy(body: {
  file_name: string;
  mime: string;
  size_bytes: number;
  title?: string;
  recording?: boolean;
}) {
  const { file_name: fileName, mime, size_bytes: sizeBytes, title, recording } = body;
  return { fileName, mime, sizeBytes, ...(title !== undefined && { title }), ...(recording && { recording }) };
}

/** The answer has no `data` wrapper (MED-13). */
export const getStorageUsage: Operation<'getStorageUsage'> = async ({ params, db }) =>
  storage.readStorageUsage(db, params.clubId);

function readerOf({ clubId }: { clubId: string }, actor: Actor): library.LibraryReader {
  return { clubId, administratorId: actor.kind === 'administrator' ? actor.id : null };
}

function ownerOf({ clubId }: { clubId: string }, caller: Caller): MediaOwner {
  return { clubId, ...(caller.kind === 'student' && { studentId: caller.student.id }) };
}
