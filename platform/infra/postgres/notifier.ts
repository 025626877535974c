/** The bell between those who commit and those who wait for it: NOTIFY, coalesced. Relays hear of facts and wakes by it. */
import type { DataSource } from 'typeorm';
import type { Bell } from './transaction.ts';

/** The channel that relays listen on. */
export const relayChannel = 'relay';

/**
 * One NOTIFY at a time: rings during one that is under way are answered by a single further one. A failure is only
 * reported, because whoever listens polls as well.
 * @param onError told of a NOTIFY that failed
 */
export function createBell(source: DataSource, onError: (error: unknown) => void, channel = relayChannel): Bell {
  let ringing = false;
  let again = false;

  async function notify(): Promise<void> {
    ringing = true;
    do {
      again = false;
      try {
        await source.query(`NOTIFY ${channel}`);
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
