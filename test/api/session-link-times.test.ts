/**
 * Tests that the times of answers do not show whether a session link or a student exists (ENTRY-2). The exchange answers at ticks, like all
 * operations that must not reveal an account (DEC-63).
 */
import { sessionLinkRules } from '../../domain/identity/sessions/session-links.policy.ts';
import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { newId, type Id } from '../../platform/core/ids.ts';
import { expectSameTime, type TimedCall } from '../toolkit/assert/same-time.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { buildSessionLink } from '../toolkit/builders/session-links.ts';
import { callAt, clock } from '../toolkit/drive/api.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

/** Longer than an exchange needs on a busy machine. */
const tickMs = 250;
/** So a club stays below the limit of its links. */
const linksPerClub = 100;

describe('the time of an answer about session links', function () {
  this.timeout(300_000);
  let app: ServedApp;
  before(async () => {
    app = await serveApp({ env: { ANSWER_TICK_MS: String(tickMs) } });
  });
  after(() => app?.close());

  /** Clubs with a key, each for some links. */
  const createClubs = () => {
    let current: Promise<{ clubId: Id; key: string }> | undefined;
    let links = 0;
    return () => {
      if (current === undefined || links++ % linksPerClub === 0)
        current = buildClub().then(async ({ id }) => ({
          clubId: id,
          key: (await buildApiKey(id, ['sessions:write'])).token,
        }));
      return current;
    };
  };
  const refusedExchange = (clubId: Id, token: string) => async () => {
    const body = { club_id: clubId, token };
    expect((await callAt(app.base, 'POST', '/v1/auth/session-links/exchange', { body })).status).to.equal(401);
  };

  const clubOfLink = createClubs();
  const unknown: TimedCall = async () => {
    const { clubId } = await clubOfLink();
    return refusedExchange(clubId, randomBytes(32).toString('base64url'));
  };
  const madeVoid =
    (change: (studentId: Id) => Promise<unknown>): TimedCall =>
    async () => {
      const { clubId, key } = await clubOfLink();
      const { id } = await buildStudent(clubId);
      const { token } = await buildSessionLink(clubId, id, { key });
      await change(id);
      return refusedExchange(clubId, token);
    };

  it('is a tick after the arrival for a refused link', async () => {
    const times: number[] = [];
    for (let count = 0; count < 8; count++) {
      const send = await unknown();
      const begin = performance.now();
      await send();
      times.push(performance.now() - begin);
    }
    expect(Math.min(...times)).to.be.at.least(tickMs - 5);
  });

  it('does not differ between expired and unknown links (p > 0.01)', async () => {
    const expired = madeVoid(async (studentId) =>
      (await testDatabase()).query(`UPDATE session_links SET expires_at = $2 WHERE student_id = $1`, [
        studentId,
        new Date(clock.now().getTime() - sessionLinkRules.lifetimeMs),
      ]),
    );
    await expectSameTime({ expired, unknown }, { pairsAtOnce: 5 });
  });

  it('does not differ between links of another club and unknown links (p > 0.01)', async () => {
    const foreign: TimedCall = async () => {
      const { clubId, key } = await clubOfLink();
      const { token } = await buildSessionLink(clubId, (await buildStudent(clubId)).id, { key });
      return refusedExchange(newId(), token);
    };
    await expectSameTime({ foreign, unknown }, { pairsAtOnce: 5 });
  });

  it('does not differ between students of another club and unknown students (p > 0.01)', async () => {
    const clubOfKey = createClubs();
    const strangers = await buildClub();
    const requestFor =
      (studentOf: () => Promise<Id>): TimedCall =>
      async () => {
        const [{ clubId, key }, studentId] = [await clubOfKey(), await studentOf()];
        return async () => {
          const path = `/v1/clubs/${clubId}/students/${studentId}/session-links`;
          expect((await callAt(app.base, 'POST', path, { token: key, body: {} })).status).to.equal(404);
        };
      };
    await expectSameTime({
      foreign: requestFor(async () => (await buildStudent(strangers.id)).id),
      unknown: requestFor(async () => newId()),
    });
  });
});
