/** Uploads files of the tour to a club: reserves them, sends them to their signed address, and completes them. */
import { Problem } from '../problem.ts';
import { requireOk, until, type Club, type Scene } from './scene.ts';

export interface TourFile {
  name: string;
  mime: 'image/png' | 'text/plain';
  bytes: Buffer;
}

interface Reservation {
  data: { id: string; title: string };
  upload: { url: string; headers: Record<string, string> };
}

/** @param club the club, with a session of an administrator @returns the id of a ready file of the library */
export async function uploadToLibrary(scene: Scene, club: Club, { name, mime, bytes }: TourFile): Promise<string> {
  const body = { file_name: name, mime, size_bytes: bytes.length };
  const params = { path: { clubId: club.clubId } };
  const reserved = requireOk(await scene.client(club.token).POST('/v1/clubs/{clubId}/media', { params, body }));
  return sendAndComplete(scene, club, reserved, bytes);
}

/**
 * @param club the club, with the same session that reserved the file
 * @returns the file's id, once it is ready
 * @throws Problem if the file fails
 */
export async function sendAndComplete(
  scene: Scene,
  { clubId, token }: Club,
  { data: file, upload }: Reservation,
  bytes: Buffer,
): Promise<string> {
  const response = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: new Uint8Array(bytes) });
  if (!response.ok) throw new Problem(`The file store answered ${response.status}.`);
  const params = { path: { clubId, mediaId: file.id } };
  await until(`“${file.title}”`, async () => {
    const { data } = requireOk(
      await scene.client(token).POST('/v1/clubs/{clubId}/media/{mediaId}/complete', { params }),
    );
    if (data.status === 'failed') throw new Problem(`“${file.title}” has failed: ${data.error}.`);
    return data.status === 'ready' ? data : undefined;
  });
  return file.id;
}
