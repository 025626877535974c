/** A student exports the data that the club has about her, and downloads the file. */
import { Problem } from '../../problem.ts';
import { requireOk, until, type Club, type Scene } from '../scene.ts';

/**
 * @param club the club, with a session of the student
 * @param number the number of the section
 * @throws Problem if the file is not the ZIP of an export
 */
export async function studentTakesData(scene: Scene, { clubId, token }: Club, number: number): Promise<void> {
  const { begin, tell } = scene;
  begin(number, 'own_data.title');
  const requested = requireOk(
    await scene.client(token).POST('/v1/clubs/{clubId}/classroom/exports', { params: { path: { clubId } } }),
  ).data;
  const path = { clubId, exportId: requested.id };
  const ready = await until('The export', async () => {
    const { data } = requireOk(
      await scene.quietClient(token).GET('/v1/clubs/{clubId}/classroom/exports/{exportId}', { params: { path } }),
    );
    if (data.status === 'failed') throw new Problem('The export of the student failed.');
    return data.status === 'ready' ? data : undefined;
  });
  const { sections_done: sections, size_bytes: bytes = 0, expires_at: end = '', download_url: url = '' } = ready;
  tell('own_data.ready', { sections, bytes, until: end });
  const file = Buffer.from(await (await fetch(url)).arrayBuffer());
  if (file.length !== bytes || !file.subarray(0, 2).equals(Buffer.from('PK')) || !file.includes('export.json'))
    throw new Problem('The downloaded file is not the ZIP of the export.');
  tell('own_data.file');
}
