/**
 * The `id` of an event in a stream: the listener, and a cursor of the position in the log. The cursor proves that this service made it for
 * this club and listener. The filter may change between two streams, so it is not part of the proof (LSN-3).
 */
import type { EventType } from '../../../platform/core/event-types.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { cursorsOf, type LogCursors, type ReaderPosition } from '../log/log-cursor.ts';

/** @returns the text of the `id` line */
export function sealEventId(vault: Vault, clubId: Id, listenerId: Id, position: ReaderPosition): string {
  return `${listenerId}.${positionsOf(vault, clubId, listenerId).make(position)}`;
}

/** @throws DomainError invalid_cursor if this service did not send the id to a listener of the club */
export function openEventId(vault: Vault, clubId: Id, text: string): { listenerId: Id; position: ReaderPosition } {
  const [listenerId = '', cursor = '', ...rest] = text.split('.');
  if (rest.length > 0 || cursor === '') throw invalidId();
  try {
    return { listenerId, position: positionsOf(vault, clubId, listenerId).read(cursor) };
  } catch (error) {
    throw error instanceof DomainError ? invalidId() : error;
  }
}

/** @returns a cursor with which `GET …/events` lists the events after a position */
export function cursorAfter(
  vault: Vault,
  clubId: Id,
  types: readonly EventType[] | undefined,
  position: ReaderPosition,
): string {
  return cursorsOf(vault, { list: 'listEvents', clubId, filters: { type: types?.toSorted() } }).make(position);
}

const positionsOf = (vault: Vault, clubId: Id, listenerId: Id): LogCursors =>
  cursorsOf(vault, { list: 'streamWebhookEvents', clubId, filters: { listener: listenerId } });

const invalidId = () =>
  new DomainError(
    'invalid_cursor',
    'Last-Event-ID is not an id of an event that this club sent to a listener. Begin without it.',
  );
