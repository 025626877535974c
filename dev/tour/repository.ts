/** A folder of files that the sale opens beside the course, and its archive as the buyer downloads it. */
import { Problem } from '../problem.ts';
import { picture } from './handout.ts';
import { requireOk, until, type Club, type Scene } from './scene.ts';

interface Folder {
  deliveryId: string;
  publicId: string;
}

/** @returns the published repository, and the delivery that opens it */
export async function folderIsFilled(scene: Scene, { clubId, token }: Club): Promise<Folder> {
  const administrator = scene.client(token);
  const params = { path: { clubId } };
  const { data: file, upload } = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/media', {
      params,
      body: { file_name: 'Knot card.png', mime: 'image/png', size_bytes: picture.length },
    }),
  );
  const put = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: new Uint8Array(picture) });
  if (!put.ok) throw new Problem(`The file store answered ${put.status}.`);
  const ofFile = { path: { clubId, mediaId: file.id } };
  await until('The knot card', async () => {
    const { data } = requireOk(
      await administrator.POST('/v1/clubs/{clubId}/media/{mediaId}/complete', { params: ofFile }),
    );
    if (data.status === 'failed') throw new Problem(`The knot card has failed: ${data.error}.`);
    return data.status === 'ready' ? data : undefined;
  });
  const repository = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/repositories', { params, body: { title: 'Knot cards' } }),
  ).data;
  const ofRepository = { path: { clubId, repositoryId: repository.id } };
  requireOk(
    await administrator.PUT('/v1/clubs/{clubId}/repositories/{repositoryId}/items', {
      params: ofRepository,
      body: { media_ids: [file.id] },
    }),
  );
  requireOk(
    await administrator.PATCH('/v1/clubs/{clubId}/repositories/{repositoryId}', {
      params: ofRepository,
      body: { status: 'published' },
    }),
  );
  const delivery = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/deliveries', {
      params,
      body: { name: 'Knot cards', opens: { kind: 'repository', repository_id: repository.id }, free: false },
    }),
  ).data;
  return { deliveryId: delivery.id, publicId: repository.public_id };
}

/** @param token of the student @throws Problem where the archive is not as long as was said */
export async function archiveIsDownloaded(
  scene: Scene,
  { clubId, token }: Club,
  { publicId }: Pick<Folder, 'publicId'>,
): Promise<void> {
  const { data } = requireOk(
    await scene.client(token).POST('/v1/clubs/{clubId}/classroom/repositories/{publicId}/download', {
      params: { path: { clubId, publicId } },
    }),
  );
  const archive = Buffer.from(await (await fetch(data.url)).arrayBuffer());
  if (archive.length !== data.size_bytes || archive.indexOf(picture) < 0)
    throw new Problem('The archive of the repository is not what was said.');
  scene.say(`   ${data.file_name} is downloaded: ${archive.length} bytes, as was said`);
}
