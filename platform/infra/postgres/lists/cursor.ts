/**
 * The cursor of a list: texts that find a row, and the proof that this service made them for this list, club, student and filters (CUR-1).
 * The only file that knows its format: base64url of a JSON array of texts and 16 bytes of a MAC. In the lists with pages, the array holds
 * the name of the order, the printed keys, and for a walk through changes its `next_updated_since`.
 */
import { DomainError } from '../../../core/errors.ts';
import type { Id } from '../../../core/ids.ts';
import type { Vault } from '../../keys/vault.ts';
import { nameOf, type OrderKeys, type PrintedKeys } from './order.ts';

/** The list that a cursor belongs to. */
export interface ListContext {
  /** The operationId of the list. */
  list: string;
  clubId: Id;
  /** The student whose classroom the list shows; absent for administrators. */
  studentId?: Id;
  /** The ids of the path and the filters of the query, with the values that the list uses. */
  filters: Readonly<Record<string, unknown>>;
}

/** The place of a caller in a list. */
export interface ListPosition {
  /** Whether the page follows a row, and has no number. */
  readonly isAfter: boolean;
  /** Limits the list to records that changed at this time or later; undefined for the whole list (CUR-6). */
  readonly changedSince: Date | undefined;
  /**
   * @returns the printed keys of the row that the page follows; undefined for a page by number
   * @throws DomainError invalid_cursor if the list has another order since the cursor was made
   */
  after(keys: OrderKeys): PrintedKeys | undefined;
  /** @returns the cursor of the page that follows a row */
  following(keys: OrderKeys, printed: PrintedKeys): string;
}

/** The walk of a caller through the changes of a list. */
export interface ChangeWalk {
  since: Date;
  /** The `next_updated_since` of the walk's first page, as text. All its pages answer it (CUR-7). */
  next: string;
}

const macBytes = 16;

const invalidCursor = () =>
  new DomainError(
    'invalid_cursor',
    'The cursor was not made by this list with these filters. Begin again without a cursor.',
  );

/**
 * @param cursor the cursor of the request; undefined for a page by number
 * @param changes the walk through the changes; undefined for the whole list. The filters of the context must contain its beginning
 * @throws DomainError invalid_cursor if the cursor was forged, or made for another list, club, student or filter
 */
export function positionIn(
  vault: Vault,
  context: ListContext,
  cursor: string | undefined,
  changes?: ChangeWalk,
): ListPosition {
  const ofWalk = changes ? [changes.next] : [];
  const opened = cursor === undefined ? undefined : openCursor(vault, context, cursor);
  return {
    isAfter: opened !== undefined,
    changedSince: changes?.since,
    after(keys) {
      if (!opened) return undefined;
      const [order, ...printed] = opened.slice(0, opened.length - ofWalk.length);
      if (order !== nameOf(keys) || printed.length !== keys.length) throw invalidCursor();
      return printed;
    },
    following: (keys, printed) => sealCursor(vault, context, [nameOf(keys), ...printed, ...ofWalk]),
  };
}

/**
 * @returns the `next_updated_since` of the walk that a cursor continues
 * @throws DomainError invalid_cursor
 */
export const nextOfWalk = (vault: Vault, context: ListContext, cursor: string): string =>
  openCursor(vault, context, cursor).at(-1) ?? '';

/** @returns a cursor that {@link openCursor} opens for the same list, club, student and filters, and for no other */
export function sealCursor(vault: Vault, context: ListContext, parts: readonly string[]): string {
  const payload = JSON.stringify(parts);
  return Buffer.concat([Buffer.from(payload), vault.mac(labelOf(context, payload), macBytes)]).toString('base64url');
}

/**
 * @returns the texts that {@link sealCursor} received
 * @throws DomainError invalid_cursor if the cursor was forged, or made for another list, club, student or filter
 */
export function openCursor(vault: Vault, context: ListContext, cursor: string): readonly string[] {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.toString('base64url') !== cursor) throw invalidCursor();
  const payload = bytes.subarray(0, -macBytes).toString();
  if (!bytes.subarray(0, -macBytes).equals(Buffer.from(payload))) throw invalidCursor();
  if (!vault.matches(labelOf(context, payload), bytes.subarray(-macBytes))) throw invalidCursor();
  return JSON.parse(payload) as string[]; // the MAC proves that `sealCursor` wrote it
}

function labelOf({ list, clubId, studentId = '', filters }: ListContext, payload: string): string {
  const sorted = Object.entries(filters).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(['list cursor', list, clubId, studentId, sorted, payload]);
}
