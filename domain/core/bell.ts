/** The bell between those who commit facts and wakes and the relays that carry them on: NOTIFY, coalesced. */
import type { DataSource } from 'typeorm';
import type { Bell } from './database.ts';

/** The channel that relays listen on. */
export const relayChannel = 'relay';

/**
 * One NOTIFY at a time: rings during one that is under way are answered by a single further one. A failure is only
 * reported, because the relay polls as well.
 * @param onError told of a NOTIFY that failed
 */
export function createBell(source: DataSource, onError: (error: unknown) => void): Bell {
  let ringing = false;
  let again = false;

  async function notify(): Promise<void> {
    ringing = true;
    do {
      again = false;
      try {
        await source.query(`NOTIFY ${relayChannel}`);
      } catch (error) {
        onError(error);
      }
    } while (again);
    ringing = false;
  }

  return {
    ring() {
      if (ringing) again = true;
      else void notify();
    },
  };
}
