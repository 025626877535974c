/** A picture goes into the library, is replaced by a better one, and is published: anybody can open it then, by an address that stays. */
import { Problem } from '../problem.ts';
import { requireOk, until, type Club, type Scene } from './scene.ts';

/** The smallest picture there is. */
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
    await uploadPicture(scene, club, 'A bowline.png', picture),
    await uploadPicture(scene, club, 'A better bowline.png', betterPicture),
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
  scene.say(`   a picture of the library has another content, and is public: ${url}`);
  return { id };
}

async function uploadPicture(scene: Scene, { clubId, token }: Club, name: string, bytes: Buffer): Promise<string> {
  const administrator = scene.client(token);
  const { data: file, upload } = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/media', {
      params: { path: { clubId } },
      body: { file_name: name, mime: 'image/png', size_bytes: bytes.length },
    }),
  );
  const put = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: new Uint8Array(bytes) });
  if (!put.ok) throw new Problem(`The file store answered ${put.status}.`);
  const params = { path: { clubId, mediaId: file.id } };
  await until('The handout', async () => {
    const { data } = requireOk(await administrator.POST('/v1/clubs/{clubId}/media/{mediaId}/complete', { params }));
    if (data.status === 'failed') throw new Problem(`The handout has failed: ${data.error}.`);
    return data.status === 'ready' ? data : undefined;
  });
  return file.id;
}
