/**
 * Scene: a picture is uploaded to the library, is replaced by a better picture, and is made public. After that, everyone can open the
 * picture at a permanent address.
 */
import { Problem } from '../problem.ts';
import { requireOk, until, type Club, type Scene } from './scene.ts';
import { uploadToLibrary } from './upload.ts';

/** The smallest possible picture. */
export const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

const betterPicture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** @returns the file */
export async function handoutIsPublished(scene: Scene, club: Club): Promise<{ id: string }> {
  const administrator = scene.client(club.token);
  const [id, better] = [
    await uploadToLibrary(scene, club, { name: 'A bowline.png', mime: 'image/png', bytes: picture }),
    await uploadToLibrary(scene, club, { name: 'A better bowline.png', mime: 'image/png', bytes: betterPicture }),
  ];
  const params = { path: { clubId: club.clubId, mediaId: id } };
  requireOk(await administrator.POST('/v1/clubs/{clubId}/media/{mediaId}/replace', { params, body: { with: better } }));
  requireOk(await administrator.POST('/v1/clubs/{clubId}/media/{mediaId}/publish', { params }));
  const { preview_url: url = '' } = await until('Its publication', async () => {
    const { data } = requireOk(await administrator.GET('/v1/clubs/{clubId}/media/{mediaId}', { params }));
    return data.visibility === 'public' ? data : undefined;
  });
  const opened = await fetch(url);
  if (!opened.ok) throw new Problem(`The published picture answers ${opened.status}.`);
  scene.show(url, 'handout.public');
  return { id };
}
