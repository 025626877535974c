/** Tells the relays that facts or wakes were committed: NOTIFY, coalesced. */
import type { DataSource } from 'typeorm';
import type { Notifier } from './database.ts';

/** The channel that relays listen on. */
export const relayChannel = 'relay';

/**
 * Sends one NOTIFY at a time, and coalesces calls while a NOTIFY is in flight into one more. A failure is only reported,
 * because every listener polls as well.
 * @param onError told of a NOTIFY that failed
 */
export function createNotifier(source: DataSource, onError: (error: unknown) => void): Notifier {
  let sending = false;
  let again = false;

  async function send(): Promise<void> {
    sending = true;
    do {
      again = false;
      try {
        await source.query(`NOTIFY ${relayChannel}`);
      } catch (error) {
        onError(error);
      }
    } while (again);
    sending = false;
  }

  return {
    notify() {
      if (sending) again = true;
      else void send();
    },
  };
}
