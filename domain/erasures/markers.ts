/** Writes the objects that name erasures outside Postgres. */
import { Readable } from 'node:stream';
import type { ErasureKind } from '../../entities/erasures/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';

/** Writes an empty object `erasures/<day>/<kind>-<id>`. */
export async function writeMarker(
  storage: ObjectStore,
  { kind, subjectId }: { kind: ErasureKind; subjectId: Id; clubId: Id | null },
  now: Date,
): Promise<void> {
  const key = `erasures/${now.toISOString().slice(0, 10)}/${kind}-${subjectId}`;
  await storage.put(key, 'application/octet-stream', Readable.from([]));
}
