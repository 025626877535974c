/** Tests the own sessions of both kinds of people: their list, their end, and the mail about a new device (SES-8 to SES-12). */
import { expect } from 'chai';
import { mailKinds } from '../../domain/contexts.ts';
import { sendTransactionalMail, type OutgoingMail } from '../../domain/mail/transactional/send.ts';
import { maxSessions } from '../../domain/identity/sessions/sessions.ts';
import type { Id } from '../../platform/core/ids.ts';
import { buildClub, buildStudent, password } from '../toolkit/builders/clubs.ts';
import { mailedToken, openFurtherSession } from '../toolkit/builders/sessions.ts';
import { administratorAccounts, studentAccounts, type AccountKind } from '../toolkit/drive/accounts.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

/** Each test has its own network, because sign-ins are limited for each address. */
let place = 100;

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';

const kinds = {
  student: async () => {
    const { id } = await buildClub();
    return { accounts: studentAccounts(id), club: { club_id: id } };
  },
  administrator: async () => ({ accounts: administratorAccounts(), club: {} }),
} as const;

interface ShownSession {
  id: Id;
  current: boolean;
  device?: string;
  network?: string;
  opened_by: string;
  created_at: string;
  last_used_at: string;
}

for (const [name, kindOf] of Object.entries(kinds))
  describe(`the sessions of ${name === 'student' ? 'a student' : 'an administrator'}`, () => {
    let accounts: AccountKind;
    let club: object;
    let account: Awaited<ReturnType<AccountKind['build']>>;
    const kind = name === 'student' ? 'student' : 'admin';
    const table = `${name}_sessions`;
    beforeEach(async () => {
      place += 1;
      ({ accounts, club } = await kindOf());
      account = await accounts.build();
    });

    const here = () => `198.51.${place}.77`;
    const networkHere = () => `198.51.${place}.0/24`;
    const list = async (token = account.token): Promise<ShownSession[]> =>
      (await call('GET', '/v1/me/sessions', { token })).body.data;
    const end = (id: string, token = account.token) => call('DELETE', `/v1/me/sessions/${id}`, { token });
    const signIn = (ip: string, more: object = {}) =>
      call('POST', `${accounts.paths}/sign-in`, {
        body: { ...club, email: account.email, password, ...more },
        headers: { 'user-agent': firefox },
        ip,
      });
    const mails = async () => {
      const source = await testDatabase();
      const rows = await source.query<{ template: string; device: string; network: string }[]>(
        `SELECT template, device, network FROM transactional_mails WHERE $1 IN (student_id, administrator_id) ORDER BY created_at`,
        [account.id],
      );
      return rows.map(({ template, device, network }) => [template, device, network]);
    };

    describe('GET /v1/me/sessions', () => {
      it('lists device, network and last use, the last used first', async () => {
        clock.advance(1_000);
        const { data } = (await signIn(here())).body;
        const sessions = await list(data.token);
        expect(
          sessions.map(({ current, device, network, opened_by }) => [current, device, network, opened_by]),
        ).to.deep.equal([
          [true, 'Firefox (Windows)', networkHere(), 'password'],
          [false, undefined, undefined, 'password'],
        ]);
        expect((await list()).map(({ current }) => current)).to.deep.equal([false, true]);
      });

      it('shows neither tokens nor hashes, and stable ids', async () => {
        const source = await testDatabase();
        const [{ hash }] = await source.query(
          `SELECT encode(token_hash, 'hex') AS hash FROM ${table} WHERE ${name}_id = $1`,
          [account.id],
        );
        const { text } = await call('GET', '/v1/me/sessions', { token: account.token });
        const [session] = await list();
        expect(text).to.include(session?.id).and.not.include(account.token);
        expect(text.replaceAll('-', '')).to.not.include(hash.slice(0, 16));
      });

      it('records the last use at most every five minutes', async () => {
        const used = async () => (await list())[0]?.last_used_at ?? '';
        const first = await used();
        clock.advance(4 * 60_000);
        expect(await used()).to.equal(first);
        clock.advance(2 * 60_000);
        expect(Date.parse(await used()) - Date.parse(first)).to.be.within(6 * 60_000 - 5_000, 6 * 60_000 + 5_000);
      });

      it('omits ended and expired sessions, and sessions of others', async () => {
        const further = await openFurtherSession(kind, account.id);
        await openFurtherSession(kind, account.id, new Date(Date.now() - 40 * 86_400_000));
        const other = await accounts.build();
        expect(await list()).to.have.length(2);
        await call('DELETE', '/v1/auth/session', { token: further });
        expect(await list()).to.have.length(1);
        expect(await list(other.token)).to.have.length(1);
      });
    });

    describe('DELETE /v1/me/sessions/{signInSessionId}', () => {
      it('ends another session, and the own one', async () => {
        const further = await openFurtherSession(kind, account.id);
        const sessions = await list();
        const other = sessions.find(({ current }) => !current);
        expect((await end(other?.id ?? '')).status).to.equal(204);
        expectError(await accounts.read(further), 'unauthenticated');
        const own = sessions.find(({ current }) => current);
        expect((await end(own?.id.toUpperCase() ?? '')).status).to.equal(204);
        expectError(await accounts.read(account.token), 'unauthenticated');
      });

      it('gives one answer for unknown ids, ended sessions and sessions of others, and ends nothing', async () => {
        const stranger = await accounts.build();
        const [foreign] = await list(stranger.token);
        const further = await openFurtherSession(kind, account.id);
        const endedSession = (await list()).find(({ current }) => !current);
        await call('DELETE', '/v1/auth/session', { token: further });
        const before = await rowCounts();
        const ids = [foreign?.id ?? '', endedSession?.id ?? '', crypto.randomUUID()];
        const answers = await Promise.all(ids.map((id) => end(id)));
        for (const answer of answers) expectError(answer, 'not_found');
        expect(new Set(answers.map(({ text }) => text))).to.have.length(1);
        expect(await rowCounts()).to.deep.equal(before);
        expect((await accounts.read(stranger.token)).status).to.equal(200);
      });
    });

    describe('DELETE /v1/me/sessions', () => {
      it('ends all other sessions of this account', async () => {
        const further = await openFurtherSession(kind, account.id);
        const stranger = await accounts.build();
        expect((await call('DELETE', '/v1/me/sessions', { token: account.token })).status).to.equal(204);
        expectError(await accounts.read(further), 'unauthenticated');
        expect((await accounts.read(account.token)).status).to.equal(200);
        expect((await accounts.read(stranger.token)).status).to.equal(200);
      });
    });

    it(`keeps at most ${maxSessions} sessions, and ends the session with the oldest use`, async () => {
      const source = await testDatabase();
      await source.query(
        `INSERT INTO ${table} (token_hash, ${name}_id, created_at, expires_at, last_used_at)
         SELECT sha256(('session ' || $1::text || n)::bytea), $1::uuid, now() - n * interval '1 minute', now() + interval '1 hour',
                CASE WHEN n = 200 THEN now() END
           FROM generate_series(2, 200) n`,
        [account.id],
      );
      await openFurtherSession(kind, account.id);
      const rows = await source.query(
        `SELECT count(*)::int AS count, bool_or(last_used_at IS NOT NULL) AS used, max(now() - created_at) FILTER (WHERE last_used_at IS NULL) < interval '101 minutes' AS young
           FROM ${table} WHERE ${name}_id = $1`,
        [account.id],
      );
      expect(rows).to.deep.equal([{ count: maxSessions, used: true, young: true }]);
      expect((await accounts.read(account.token)).status).to.equal(200);
    });

    describe('the mail after a sign-in from a new device', () => {
      const template = `${name}_new_device`;

      it('names device and network, and is requested once for a network', async () => {
        await signIn(here());
        await signIn(here());
        expect(await mails()).to.deep.equal([[template, 'Firefox (Windows)', networkHere()]]);
      });

      it('shows device, network and time, and forgets both after it was sent', async () => {
        await signIn(here());
        const { db, vault } = await testDeps();
        const [{ id }] = await db.source.query(
          `SELECT id FROM transactional_mails WHERE $1 IN (student_id, administrator_id)`,
          [account.id],
        );
        const outbox: OutgoingMail[] = [];
        const links = {
          classroomUrl: 'https://{slug}.example.com',
          dashboardUrl: 'https://dashboard.example.com',
          publicUrl: 'https://api.example.com',
        };
        const mailDeps = { db, vault, links, warmUp: [], kinds: mailKinds, onOutcome: () => undefined };
        const sendMail = async (mail: OutgoingMail) => void outbox.push(mail);
        await sendTransactionalMail({ ...mailDeps, sendMail }, id, Date.now() + 1_000);
        const [mail] = outbox;
        expect(mail?.to).to.equal(account.email);
        expect(mail?.text).to.include('Firefox (Windows)').and.include(networkHere()).and.include('/account/sessions');
        expect(mail?.text).to.match(/Time: .*\d\d:\d\d/);
        expect(await mails()).to.deep.equal([[template, null, null]]);
      });

      it('is not requested for a known device in a new network', async () => {
        const { device_token } = (await signIn(here())).body.data;
        await signIn('203.0.113.9', { device_token });
        expect(await mails()).to.have.length(1);
        await signIn('192.0.2.1', { device_token: 'of another service' });
        expect(await mails()).to.have.length(2);
      });

      it('is not requested if the sign-in fails', async () => {
        expectError(await signIn(here(), { password: 'a wrong password' }), 'invalid_credentials');
        expect(await mails()).to.deep.equal([]);
      });

      it('is limited to the usual number of mails to an address', async () => {
        for (let count = 1; count <= 9; count++) await signIn(`198.51.${count}.1`);
        expect((await mails()).length).to.be.within(1, 6);
      });

      it('is not requested after a link of a mail', async () => {
        await accounts.requestReset(account.email);
        const token = await mailedToken(accounts.purposes.reset, account.id);
        expect((await accounts.confirmReset(token, 'a quite different phrase')).status).to.equal(200);
        expect((await mails()).map(([kindOfMail]) => kindOfMail)).to.not.include(template);
      });
    });
  });

describe('the code of a student from a new network', () => {
  it('leads to a mail, unless it confirms the account', async () => {
    const club = await buildClub();
    const source = await testDatabase();
    for (const verified of [true, false]) {
      const student = await buildStudent(club.id, { verified });
      const named = { club_id: club.id, email: student.email };
      const { code_id } = (await call('POST', '/v1/auth/code', { body: named })).body.data;
      const code = await mailedToken('student_code', student.id);
      const exchange = { ...named, code_id, code };
      expect((await call('POST', '/v1/auth/code/exchange', { body: exchange })).status).to.equal(200);
      const rows = await source.query(
        `SELECT FROM transactional_mails WHERE student_id = $1 AND template = 'student_new_device'`,
        [student.id],
      );
      expect(rows).to.have.length(verified ? 1 : 0);
    }
  });
});
