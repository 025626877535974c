/**
 * The cursor of the log: a position, and the proof that this service made it for this list, club and filters (EVT-25). The only file that
 * knows its format: base64url of a JSON array of texts and 16 bytes of a MAC.
 */
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

/** The list that a cursor belongs to. */
export interface ListContext {
  /** The operationId of the list. */
  list: string;
  clubId: Id;
  /** The filters of the query, with the values that the list uses. */
  filters: Readonly<Record<string, unknown>>;
}

/** The position of a reader in the log. */
export interface ReaderPosition {
  /** The position of the last event that the reader has read, as Postgres prints it; `0` before the first event. */
  position: string;
  /** The creation of that event, or the time of a read that found the end of the log. No later event is much older. */
  at: Date;
}

const macBytes = 16;

/** @throws DomainError invalid_cursor if the cursor was forged, or made for another list, club or filter */
export function openCursor(vault: Vault, context: ListContext, cursor: string): ReaderPosition {
  const bytes = Buffer.from(cursor, 'base64url');
  const payload = bytes.subarray(0, -macBytes);
  const text = payload.toString();
  const isOurs =
    bytes.toString('base64url') === cursor &&
    payload.equals(Buffer.from(text)) &&
    vault.matches(labelOf(context, text), bytes.subarray(-macBytes));
  if (!isOurs)
    throw new DomainError(
      'invalid_cursor',
      'The cursor was not made by this list with these filters. Begin again without a cursor.',
    );
  const [position, at] = JSON.parse(text) as [string, string]; // the MAC proves that `sealCursor` wrote it
  return { position, at: new Date(at) };
}

/** @returns the cursor that {@link openCursor} opens for the same list, club and filters */
export function sealCursor(vault: Vault, context: ListContext, { position, at }: ReaderPosition): string {
  const payload = JSON.stringify([position, at.toISOString()]);
  return Buffer.concat([Buffer.from(payload), vault.mac(labelOf(context, payload), macBytes)]).toString('base64url');
}

function labelOf({ list, clubId, filters }: ListContext, payload: string): string {
  const sorted = Object.entries(filters).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(['log cursor', list, clubId, sorted, payload]);
}
