/** Two erasures of clubs: the first erasure completes after all its waits, and the second erasure is canceled before its beginning. */
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { buildClubErasure } from '../../toolkit/builders/erasures.ts';
import { until } from '../../toolkit/drive/until.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';
import type { Scenarios } from '../recorder.ts';

const day = 86_400_000;

export const erasureScenarios: Scenarios = {
  clubErasure: {
    async 'planned-until-completed'({ skipped }) {
      const { id } = await buildClub();
      const now = await skipped.now();
      await buildClubErasure(id, { requestedAt: now, erasesAt: new Date(now.getTime() + 14 * day), looksAt: now });
      return skipped.start('clubErasure', 'upkeep', id);
    },
    async 'canceled-before-its-beginning'({ by }) {
      const { id } = await buildClub();
      const erasureId = await buildClubErasure(id, { erasesAt: new Date(Date.now() + 14 * day), looksAt: new Date() });
      const handle = await by.signalWithStart('clubErasure', { id, clubId: id });
      const source = await testDatabase();
      await until('the wait for the reminder', { timeoutMs: 10_000 }, async () => {
        const rows = await source.query<unknown[]>(
          'SELECT FROM erasures WHERE id = $1 AND looks_at > now() AND lease_until IS NULL',
          [erasureId],
        );
        return rows.length > 0;
      });
      await source.query('DELETE FROM erasures WHERE id = $1', [erasureId]);
      await by.signalWithStart('clubErasure', { id, clubId: id });
      return handle;
    },
  },
};
