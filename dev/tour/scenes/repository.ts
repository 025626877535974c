/**
 * Scene: a sale gives its buyer access to a folder of files. The buyer downloads the archive of the folder over a connection that is cut.
 */
import { Problem } from '../../problem.ts';
import { picture } from '../handout.ts';
import { requireOk, type Club, type Scene } from '../scene.ts';
import { uploadToLibrary } from '../upload.ts';

interface Folder {
  repositoryId: string;
  publicId: string;
}

/** The content of a file. It is so long that the download can be cut in the middle. */
const logbook = Buffer.from('Wind force four, the jib holds.\n'.repeat(30_000));

/** @returns the published repository */
export async function folderIsFilled(scene: Scene, club: Club): Promise<Folder> {
  const { clubId, token } = club;
  const administrator = scene.client(token);
  const files = [
    await uploadToLibrary(scene, club, { name: 'Knot card.png', mime: 'image/png', bytes: picture }),
    await uploadToLibrary(scene, club, { name: 'Logbook.txt', mime: 'text/plain', bytes: logbook }),
  ];
  const repository = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/repositories', {
      params: { path: { clubId } },
      body: { title: 'Knot cards' },
    }),
  ).data;
  const params = { path: { clubId, repositoryId: repository.id } };
  requireOk(
    await administrator.PUT('/v1/clubs/{clubId}/repositories/{repositoryId}/items', {
      params,
      body: { media_ids: files },
    }),
  );
  requireOk(
    await administrator.PATCH('/v1/clubs/{clubId}/repositories/{repositoryId}', {
      params,
      body: { status: 'published' },
    }),
  );
  return { repositoryId: repository.id, publicId: repository.public_id };
}

/** @param club the club, with a session of the student @throws Problem if the two parts differ from the archive */
export async function archiveIsDownloaded(
  scene: Scene,
  { clubId, token }: Club,
  { publicId }: Pick<Folder, 'publicId'>,
): Promise<void> {
  const address = async () =>
    requireOk(
      await scene.client(token).POST('/v1/clubs/{clubId}/classroom/repositories/{publicId}/download', {
        params: { path: { clubId, publicId } },
      }),
    ).data;
  const { url, file_name: name, size_bytes: size } = await address();
  const firstResponse = await fetch(url);
  const beginning = await firstPartOf(firstResponse);
  scene.tell('club.cut', { arrived: beginning.length, total: size, file: name });

  const version = firstResponse.headers.get('etag') ?? '';
  const rest = await fetch((await address()).url, {
    headers: { range: `bytes=${beginning.length}-`, 'if-range': version },
  });
  const archive = Buffer.concat([beginning, Buffer.from(await rest.arrayBuffer())]);
  scene.tell('club.rest', { status: rest.status, total: archive.length });
  const isWhole = archive.length === size && archive.indexOf(picture) >= 0 && archive.indexOf(logbook) >= 0;
  if (rest.status !== 206 || !isWhole) throw new Problem('The two parts differ from the archive of the repository.');
}

/** Reads a part of the response, and discards the rest. @throws Problem if the response is too short for an interruption */
async function firstPartOf({ body }: Response): Promise<Buffer> {
  let read = Buffer.alloc(0);
  for await (const part of body ?? []) {
    read = Buffer.concat([read, part]);
    if (read.length > logbook.length / 4) return read;
  }
  throw new Problem('The archive arrived before its connection was cut.');
}
