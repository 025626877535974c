/** Files of a club's library, and the images that students show agents. */
import * as completion from '../../domain/media/completion.ts';
import * as erasure from '../../domain/media/erasure.ts';
import * as library from '../../domain/media/library.ts';
import * as reservation from '../../domain/media/reservation.ts';
import * as uses from '../../domain/media/uses.ts';
import * as storage from '../../domain/media/storage.ts';
import type { Operation } from '../operation.ts';
import { data, noContent, page } from './answers.ts';

export const listMedia: Operation<'listMedia'> = async ({ params, query, db, deps }) =>
  page(await library.listMedia(db, deps.storage, params.clubId, query));

export const reserveMedia: Operation<'reserveMedia'> = async ({ params, body, deps, now }) =>
  reservation.reserveMedia(deps, params.clubId, announcedBy(body), now);

export const getMedia: Operation<'getMedia'> = async ({ params, db, deps }) =>
  data(await library.findMedia(db, deps.storage, params.clubId, params.mediaId));

export const listMediaUsage: Operation<'listMediaUsage'> = async ({ params, query, db }) =>
  page(await uses.usesOf(db, params.clubId, params.mediaId, query));

export const removeMedia: Operation<'removeMedia'> = async ({ params, query, deps, now }) =>
  noContent(await erasure.removeMedia(deps, params.clubId, params.mediaId, now, query));

/** Administrators complete the files of the library, students their own images. */
export const completeMedia: Operation<'completeMedia'> = async ({ params, caller, deps, now, chargeChange }) => {
  const owner = { clubId: params.clubId, ...(caller.kind === 'student' && { studentId: caller.student.id }) };
  const watching = { ...deps, watchMs: deps.completionWatchMs };
  return data(await completion.completeMedia(watching, owner, params.mediaId, now, chargeChange));
};

export const reserveAgentImage: Operation<'reserveAgentImage'> = async ({ params, student, body, deps, now }) =>
  reservation.reserveAgentImage(deps, { clubId: params.clubId, studentId: student.id }, announcedBy(body), now);

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

/** Without the wrapper of other records (MED-13). */
export const getStorageUsage: Operation<'getStorageUsage'> = async ({ params, db }) =>
  storage.readStorageUsage(db, params.clubId);
