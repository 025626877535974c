/**
 * Markers of erasures: empty objects in the private bucket (ADR 89, ERS-20). A restore of Postgres brings erased rows back, but it does not
 * touch the bucket. So markers tell the command `erase-again` what it must erase again.
 *
 * The key of a marker is `erasures/<YYYY-MM-DD>/<kind>-<id>`, with the day in UTC. For a student it is
 * `erasures/<YYYY-MM-DD>/student-<club id>-<student id>`.
 */
import { Readable } from 'node:stream';
import { erasureKinds, type ErasureKind } from '../../entities/erasures/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';

export interface MarkedErasure {
  kind: ErasureKind;
  /** The club, the student or the administrator. */
  subjectId: Id;
  /** The club of the student, or the club itself; null for an administrator. */
  clubId: Id | null;
}

const prefix = 'erasures/';
const dayMs = 86_400_000;

export const markerRules = {
  /** A marker is deleted after this time, as the row of the erasure is. No backup may be older. */
  keptMs: 400 * dayMs,
  /** One round deletes at most this many markers, and starts no further deletion after `roundMs`. */
  removedARound: 200,
  roundMs: 10_000,
} as const;

const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

/** @returns the key of the marker of an erasure on the day of `now` */
function markerKey({ kind, subjectId, clubId }: MarkedErasure, now: Date): string {
  if (kind === 'student' && clubId === null) throw new Error(`The erasure of student ${subjectId} names no club.`);
  const name = kind === 'student' ? `${clubId}-${subjectId}` : subjectId;
  return `${prefix}${dayOf(now)}/${kind}-${name}`;
}

/**
 * Writes the marker of an erasure, unless the day already has it (ERS-20).
 * @param now decides the day; a repeated call should pass the same time
 * @throws the error of the store
 */
export async function writeMarker(
  storage: Pick<ObjectStore, 'put' | 'size'>,
  erasure: MarkedErasure,
  now: Date,
): Promise<void> {
  const key = markerKey(erasure, now);
  if ((await storage.size(key)) !== undefined) return; // a second version of the object would be useless
  await storage.put(key, 'application/octet-stream', Readable.from([]));
}

const form =
  /^erasures\/\d{4}-\d{2}-\d{2}\/(?<kind>[a-z]+)-(?:(?<of>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-)?(?<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** @returns undefined if the key has another form */
function markedErasureOf(key: string): MarkedErasure | undefined {
  const { kind, of, id } = form.exec(key)?.groups ?? {};
  const known = erasureKinds.find((one) => one === kind);
  if (known === undefined || id === undefined || (known === 'student') !== (of !== undefined)) return undefined;
  return { kind: known, subjectId: id, clubId: known === 'club' ? id : (of ?? null) };
}

/**
 * Streams the markers of the day of `since` and of all later days, in the order of days (ERS-21). The first day may have erasures from
 * before `since`. An erasure may have markers on two days.
 * @param options.until the last day; no limit if absent
 * @param options.onUnknown gets the key of each object that is no marker
 * @throws the error of the store
 */
export async function* listMarkers(
  storage: Pick<ObjectStore, 'list'>,
  since: Date,
  { until, onUnknown = () => {} }: { until?: Date; onUnknown?: (key: string) => void } = {},
): AsyncGenerator<MarkedErasure> {
  // The character after the slash ends the last day.
  const end = until && `${prefix}${dayOf(until)}0`;
  for await (const key of storage.list(prefix, `${prefix}${dayOf(since)}`)) {
    if (end !== undefined && key > end) return;
    const erasure = markedErasureOf(key);
    if (erasure) yield erasure;
    else onUnknown(key);
  }
}

/**
 * Deletes markers of days that ended 400 days ago (ERS-22). Repeated and parallel rounds do no harm.
 * @throws the error of the store
 */
export async function removeOldMarkers(
  storage: Pick<ObjectStore, 'list' | 'remove'>,
  now: Date,
): Promise<{ rows: { erasureMarkersRemoved: number }; more: boolean }> {
  const keptFrom = `${prefix}${dayOf(new Date(now.getTime() - markerRules.keptMs))}`;
  const ends = performance.now() + markerRules.roundMs;
  let removed = 0;
  for await (const key of storage.list(prefix)) {
    if (key >= keptFrom) break; // the keys are sorted by day
    if (removed === markerRules.removedARound || performance.now() > ends)
      return { rows: { erasureMarkersRemoved: removed }, more: true };
    await storage.remove(key);
    removed += 1;
  }
  return { rows: { erasureMarkersRemoved: removed }, more: false };
}
