/**
 * Receives a file in one request, if the reservation stated no size (MED-29). The request states the size, this space is reserved, and
 * exactly this number of bytes streams to the bucket. If the reservation ends, the upload is aborted.
 */
import { maxBytes } from '../../domain/media/media.policy.ts';
import { UploadLocked } from '../../domain/media/uploads/locks.ts';
import { declareLength, findUploadedFile, type UploadedFile } from '../../domain/media/uploads/open-uploads.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Context } from '../middleware/context.ts';
import type { UploadServerDeps } from './upload-server.ts';

export interface SingleUploadDeps extends Pick<UploadServerDeps, 'db' | 'locks'> {
  storage: Pick<ObjectStore, 'putOnce' | 'remove' | 'size'>;
}

type OpenFile = UploadedFile & { objectKey: string };

const number = /^(?:0|[1-9]\d{0,14})$/;

/** @returns the length in bytes @throws DomainError unsupported_media_type, malformed_request, invalid_request, body_too_large */
export function declaredLength(context: Context, { purpose, mime }: OpenFile): number {
  if (context.get('content-type') !== mime)
    throw new DomainError('unsupported_media_type', `Content-Type must be ${mime}, as it was reserved.`);
  const length = context.get('content-length');
  if (!number.test(length))
    throw new DomainError('malformed_request', 'Content-Length must be the size of the file in bytes.');
  if (length === '0') throw new DomainError('invalid_request', 'Content-Length is 0: an empty file is not accepted.');
  const maxLength = maxBytes(purpose, mime ?? '');
  if (Number(length) > maxLength)
    throw new DomainError(
      'body_too_large',
      `Content-Length is ${length}: a file of this type has at most ${maxLength} bytes.`,
    );
  return Number(length);
}

/**
 * Only one request writes at a time. A later request asks the earlier one to stop, because the earlier connection may be dead.
 * @throws DomainError not_found, file_exists, upload_locked, invalid_request, limit_reached, and the errors of the store
 */
export async function receiveFile(
  { db, locks, storage }: SingleUploadDeps,
  file: OpenFile,
  length: number,
  context: Context,
): Promise<void> {
  const releaseRequest = new AbortController();
  const lock = await lockOf(locks, file, releaseRequest);
  try {
    const current = await findUploadedFile(db, file.id); // another request may have completed or deleted it
    if (!current) throw notFound('upload');
    if (!current.isOpen) throw fileExists();
    await removePartialFile(storage, file.objectKey, current.length);
    await declareLength(db, file.id, length, 'Content-Length');
    const { objectKey, mime } = file;
    const outcome = await storage
      .putOnce(objectKey, mime ?? '', length, context.req, releaseRequest.signal)
      .catch(async (error) => {
        if (!releaseRequest.signal.aborted) throw error;
        if (!(await findUploadedFile(db, file.id))) throw notFound('upload');
        throw uploadLocked();
      });
    if (outcome === 'exists') throw fileExists();
  } finally {
    await lock.release();
  }
}

/**
 * A partial file of a crashed process: some stores keep it when a connection ends.
 * @param length 0 if no size was declared
 * @throws DomainError file_exists
 */
async function removePartialFile(storage: SingleUploadDeps['storage'], key: string, length: number): Promise<void> {
  const stored = await storage.size(key);
  if (stored === undefined) return;
  if (length === 0 || stored === length) throw fileExists();
  await storage.remove(key);
}

export const fileExists = () =>
  new DomainError('file_exists', 'The file has already arrived, and stays unchanged. Reserve another one.');

const uploadLocked = () =>
  new DomainError(
    'upload_locked',
    'Another request writes to this upload, or this process is stopping. Send the file again.',
  );

async function lockOf(locks: UploadServerDeps['locks'], { id }: OpenFile, releaseRequest: AbortController) {
  try {
    return await locks.acquire(
      id,
      () => releaseRequest.abort(new Error('The upload lock was released')),
      new AbortController().signal,
    );
  } catch (error) {
    throw error instanceof UploadLocked ? uploadLocked() : error;
  }
}
