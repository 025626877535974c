/** The original files of a club that belong to an export: library files and files of submissions (EXP-13). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { ascending } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { Media } from '../../../entities/media/media.ts';
import { dispositionOf } from '../../media/file-name.policy.ts';
import { safeName } from '../../repositories/zip.policy.ts';

const fileColumns = columns(Media, ['id', 'title', 'fileName', 'mime', 'sizeBytes', 'sha256', 'objectKey'], 'media');

type ExportFile = RecordOf<'ClubExportFile'>;

/**
 * @param until only files that were created at this time or earlier
 * @param storage signs an address for each file; no addresses if absent
 * @returns a page of the club's stored files, oldest first
 */
export async function listFiles(
  db: Queries,
  clubId: Id,
  until: Date,
  page: PageRequest,
  storage?: Pick<ObjectStore, 'signGet'>,
): Promise<Page<ExportFile>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: fileColumns,
    from: sql`FROM media WHERE media.club_id = ${clubId} AND media.purpose IN ('library', 'assignment')
       AND media.status = 'ready' AND media.removed_at IS NULL AND media.object_key IS NOT NULL
       AND media.size_bytes IS NOT NULL AND media.created_at <= ${until}`,
    orderBy: [ascending('media.created_at', 'timestamptz'), ascending('media.id', 'uuid')],
  });
  const files: ExportFile[] = [];
  for (const { id, title, fileName, mime, sizeBytes, sha256, objectKey } of rows) {
    const name = safeName(fileName ?? title);
    const answer = { disposition: dispositionOf('attachment', name), contentType: mime ?? 'application/octet-stream' };
    files.push({
      media_id: id,
      name: `files/${id}/${name}`,
      size_bytes: Number(sizeBytes),
      ...(sha256 !== null && { sha256: sha256.toString('hex') }),
      ...(storage && objectKey !== null && { url: await storage.signGet(objectKey, answer) }),
    });
  }
  return { rows: files, total, next };
}
