/**
 * Uploads files in tests. The functions reserve an upload through the API, send the file as the answer says, complete the upload, and read
 * the bucket.
 */
import type { RecordOf } from '../../../contract/contract.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { mediaUses } from '../../../domain/contexts.ts';
import type { LibraryDeps } from '../../../domain/media/media.ts';
import type { ReservationDeps } from '../../../domain/media/uploads/reservation.ts';
import type { TestClub, TestStudent } from '../builders/clubs.ts';
import { call, type Answer } from './api.ts';
import { testDeps } from '../stack/database.ts';
import { processedFile } from './processing.ts';
import { testObjectStore, testBucket } from '../stack/storage.ts';

export type MediaRecord = RecordOf<'Media'>;
type Upload = RecordOf<'UploadDescriptor'>;

export interface Reserved {
  media: MediaRecord;
  upload: Upload;
}

export const libraryPath = ({ id }: { id: Id }, ...further: string[]) =>
  [`/v1/clubs/${id}/media`, ...further].join('/');

export async function mediaDeps(
  replaced: (storage: ObjectStore) => Partial<ObjectStore> = () => ({}),
): Promise<ReservationDeps & LibraryDeps> {
  const storage = await testObjectStore();
  return {
    ...(await testDeps()),
    mediaUses,
    filesUrl: 'http://127.0.0.1:9',
    storage: { ...storage, ...replaced(storage) },
  };
}

/** The ids of the club's files with an original in the private bucket. */
export async function filesOf(club: { id: Id }): Promise<Id[]> {
  return (await keysOf(club)).filter((key) => !key.includes('.'));
}

/** All keys of a club's files in the private bucket: `<id>`, and `<id>.<fence>-<role>-<version>` of renditions. */
export async function keysOf({ id }: { id: Id }): Promise<string[]> {
  const prefix = `media/${id}/`;
  return (await (await testBucket()).objects(prefix)).map((key) => key.slice(prefix.length));
}

export interface TestFile {
  fileName: string;
  mime: string;
  bytes: Buffer;
}

/**
 * The account that uploads: an administrator for a file of the library, or a student for an image for an agent or for the student's own
 * picture.
 */
export type Uploader =
  | { club: TestClub; token?: string }
  | { club: TestClub; student: TestStudent; uploads?: 'agent-images' | 'avatar' };

const tokenOf = (uploader: Uploader) =>
  'student' in uploader ? uploader.student.token : (uploader.token ?? uploader.club.owner.token);

/** Requests an upload. */
export function reserving(uploader: Uploader, file: TestFile, body: Record<string, unknown> = {}): Promise<Answer> {
  const { id } = uploader.club;
  const path =
    'student' in uploader
      ? `/v1/clubs/${id}/classroom/${uploader.uploads ?? 'agent-images'}`
      : libraryPath(uploader.club);
  const announced = { file_name: file.fileName, mime: file.mime, size_bytes: file.bytes.length, ...body };
  return call('POST', path, { token: tokenOf(uploader), body: announced });
}

export async function reserve(
  uploader: Uploader,
  file: TestFile,
  body: Record<string, unknown> = {},
): Promise<Reserved> {
  const answer = await reserving(uploader, file, body);
  if (answer.status !== 201) throw new Error(`The upload was refused: ${answer.text}`);
  return { media: answer.body.data, upload: answer.body.upload };
}

/** @returns the status of the last answer: 200 for `put`, 204 for `tus` */
export async function send(upload: Upload, bytes: Buffer): Promise<number> {
  if (upload.method === 'put') return put(upload, bytes);
  const created = await beginUpload(upload, bytes.length);
  if (created.status !== 201) return created.status;
  return (await sendPiece(upload, created.headers.get('location') ?? '', bytes)).status;
}

export const beginUpload = (
  { url, headers }: Pick<Upload, 'url' | 'headers'>,
  length: number,
  others: Record<string, string> = {},
): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { ...headers, 'tus-resumable': '1.0.0', 'upload-length': String(length), ...others },
  });

export const sendPiece = (
  { headers }: Pick<Upload, 'headers'>,
  location: string,
  bytes: Buffer,
  { at = 0, others = {} }: { at?: number; others?: Record<string, string> } = {},
): Promise<Response> =>
  fetch(location, {
    method: 'PATCH',
    headers: {
      ...headers,
      'tus-resumable': '1.0.0',
      'upload-offset': String(at),
      'content-type': 'application/offset+octet-stream',
      ...others,
    },
    body: new Uint8Array(bytes),
  });

/** @returns the store's status */
export async function put(
  { url, headers }: Pick<Upload, 'url' | 'headers'>,
  bytes: Buffer,
  others: Record<string, string | undefined> = {},
): Promise<number> {
  const headerFields = Object.entries({ ...headers, ...others }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  );
  const response = await fetch(url, { method: 'PUT', headers: headerFields, body: new Uint8Array(bytes) });
  await response.arrayBuffer();
  return response.status;
}

export function sayingArrived(uploader: Uploader, mediaId: Id): Promise<Answer> {
  return call('POST', libraryPath(uploader.club, mediaId, 'complete'), { token: tokenOf(uploader) });
}

/**
 * Tells the API that the file has arrived, and processes the file as a worker does. @returns the answer. If the first answer says that the
 * file is in processing, this is the answer to a second call
 */
export async function completing(uploader: Uploader, mediaId: Id): Promise<Answer> {
  const answer = await sayingArrived(uploader, mediaId);
  if (answer.status !== 200 || answer.body.data.status !== 'processing') return answer;
  await processedFile(mediaId);
  return sayingArrived(uploader, mediaId);
}

export async function uploadFile(
  uploader: Uploader,
  file: TestFile,
  body: Record<string, unknown> = {},
): Promise<MediaRecord> {
  const { media, upload } = await reserve(uploader, file, body);
  const status = await send(upload, file.bytes);
  if (status !== 200 && status !== 204) throw new Error(`The store answered ${status}`);
  const answer = await completing(uploader, media.id);
  if (answer.status !== 200) throw new Error(`The upload was not completed: ${answer.text}`);
  return answer.body.data;
}
