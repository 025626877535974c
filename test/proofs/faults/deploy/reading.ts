/** Owners read lists through a proxy without a pause, one owner after another. The proxy counts the refused requests. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Subject } from '../audience.ts';
import type { Proxy } from './proxy.ts';

const readEveryMs = 100;

/** Begins immediately. */
export function startReading(subjects: readonly Subject[], proxy: Proxy): { stop(): Promise<void> } {
  let isReading = true;
  const all = (async () => {
    for (let number = 0; isReading; number++) {
      const subject = subjects[(number * 7) % subjects.length];
      if (subject === undefined) return;
      await fetch(`${proxy.url}/v1/clubs/${subject.clubId}/students?page_size=20`, {
        headers: { Authorization: `Bearer ${subject.ownerToken}` },
      }).then(
        (response) => response.arrayBuffer(),
        () => undefined,
      );
      await sleep(readEveryMs);
    }
  })();
  return {
    async stop() {
      isReading = false;
      await all;
    },
  };
}
