/** Files of a club's library, and the images that students show agents. */
import { completeMedia as complete } from '../../domain/media/completion.ts';
import { removeMedia as remove } from '../../domain/media/erasure.ts';
import { findMedia, listMedia as list } from '../../domain/media/library.ts';
import { reserveAgentImage as reserveImage, reserveMedia as reserve } from '../../domain/media/reservation.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listMedia: Operation<'listMedia'> = async ({ params, query, services }) =>
  listed(await list(services, params.clubId, query));

export const reserveMedia: Operation<'reserveMedia'> = async ({ params, body, services, now }) =>
  reserve(services, params.clubId, announcedBy(body), now);

export const getMedia: Operation<'getMedia'> = async ({ params, services }) => ({
  data: await findMedia(services, params.clubId, params.mediaId),
});

export const removeMedia: Operation<'removeMedia'> = async ({ params, services, now }) => {
  await remove(services, params.clubId, params.mediaId, now);
  return undefined;
};

/** Administrators complete the files of the library, students their own images. */
export const completeMedia: Operation<'completeMedia'> = async ({ params, caller, services, now }) => {
  const owner = { clubId: params.clubId, ...(caller.kind === 'student' && { studentId: caller.student.id }) };
  return { data: await complete(services, owner, params.mediaId, now) };
};

export const reserveAgentImage: Operation<'reserveAgentImage'> = async ({ params, student, body, services, now }) =>
  reserveImage(services, { clubId: params.clubId, studentId: student.id }, announcedBy(body), now);

function announcedBy(body: { file_name: string; mime: string; size_bytes: number; title?: string }) {
  const { file_name: fileName, mime, size_bytes: sizeBytes, title } = body;
  return { fileName, mime, sizeBytes, ...(title !== undefined && { title }) };
}
