/** The positions of readers in the log of a club, as cursors of the lists (EVT-25). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { openCursor, sealCursor } from '../../../platform/infra/postgres/lists/cursor.ts';

/** The position of a reader in the log. */
export interface ReaderPosition {
  /** The position of the last event that the reader has read, as Postgres prints it; `0` before the first event. */
  position: string;
  /** The creation of that event, or the time of a read that found the end of the log. No later event is much older. */
  at: Date;
}

/** The log that a reader follows. A cursor is good for one log, club and set of filters. */
export interface ReadLog {
  /** The operationId of the operation that reads the log. */
  list: string;
  clubId: Id;
  /** The filters of the request, with the values that the log uses. */
  filters: Readonly<Record<string, unknown>>;
}

/** Makes and reads the cursors of one log. */
export interface LogCursors {
  /** @throws DomainError invalid_cursor if the cursor was forged, or made for another log, club or filter */
  read(cursor: string): ReaderPosition;
  /** @returns the cursor that `read` accepts for the same log, club and filters */
  make(position: ReaderPosition): string;
}

/** @returns the cursors of the log of a club, for the page of a list and for the `Last-Event-ID` of a stream */
export function cursorsOf(vault: Vault, log: ReadLog): LogCursors {
  return {
    read(cursor) {
      const [position, at] = openCursor(vault, log, cursor) as [string, string]; // `make` wrote both
      return { position, at: new Date(at) };
    },
    make: ({ position, at }) => sealCursor(vault, log, [position, at.toISOString()]),
  };
}
