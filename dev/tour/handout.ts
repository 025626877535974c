/** A picture goes into the library and is published: anybody can open it then, by an address that stays. */
import { Problem } from '../problem.ts';
import { requireOk, until, type Club, type Scene } from './scene.ts';

/** The smallest picture there is. */
export const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

/** @returns the file */
export async function handoutIsPublished(scene: Scene, { clubId, token }: Club): Promise<{ id: string }> {
  const administrator = scene.client(token);
  const { data: file, upload } = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/media', {
      params: { path: { clubId } },
      body: { file_name: 'A bowline.png', mime: 'image/png', size_bytes: picture.length },
    }),
  );
  const put = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: new Uint8Array(picture) });
  if (!put.ok) throw new Problem(`The file store answered ${put.status}.`);
  const params = { path: { clubId, mediaId: file.id } };
  await until('The handout', async () => {
    const { data } = requireOk(await administrator.POST('/v1/clubs/{clubId}/media/{mediaId}/complete', { params }));
    if (data.status === 'failed') throw new Problem(`The handout has failed: ${data.error}.`);
    return data.status === 'ready' ? data : undefined;
  });
  requireOk(await administrator.POST('/v1/clubs/{clubId}/media/{mediaId}/publish', { params }));
  const { preview_url: url = '' } = await until('Its publication', async () => {
    const { data } = requireOk(await administrator.GET('/v1/clubs/{clubId}/media/{mediaId}', { params }));
    return data.visibility === 'public' ? data : undefined;
  });
  const opened = await fetch(url);
  if (!opened.ok) throw new Problem(`The published picture answers ${opened.status}.`);
  scene.say(`   a picture of the library is public: ${url}`);
  return { id: file.id };
}
