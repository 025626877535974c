/** Tests the request, the read and the cancellation of the erasure of a club (ERS-1 to ERS-4). */
import { expect } from 'chai';
import { scopes } from '../../contract/rules/scopes.ts';
import { roles } from '../../entities/clubs/values.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildMember, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildSecondFactor } from '../toolkit/builders/second-factors.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const day = 86_400_000;

async function query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
  return (await testDatabase()).query<Row[]>(text, values);
}

describe('erasure of a club', () => {
  let club: TestClub;
  let name: string;
  beforeEach(async () => {
    club = await buildClub();
    name = `Club ${club.owner.id}`;
  });

  const path = () => `/v1/clubs/${club.id}/erasure`;
  const ask = (typed = name, token = club.owner.token) => call('POST', path(), { token, body: { name: typed } });
  const read = (token = club.owner.token) => call('GET', path(), { token });
  const cancel = (token = club.owner.token) => call('DELETE', path(), { token });
  const rename = (text: string) => query(`UPDATE clubs SET name = $2 WHERE id = $1`, [club.id, text]);
  const mails = async () => {
    const rows = await query<{ template: string; recipient: string }>(
      `SELECT template, administrator_id AS recipient FROM transactional_mails WHERE club_id = $1 ORDER BY created_at, administrator_id`,
      [club.id],
    );
    return rows.map(({ template, recipient }) => `${template} ${recipient}`);
  };

  describe('POST /v1/clubs/{clubId}/erasure', () => {
    it('answers 202 with the record, which begins 14 days later', async () => {
      const { status, body } = await ask();
      expect(status).to.equal(202);
      const { requested_at: requestedAt, id, certificate_url: certificateUrl } = body.data;
      expect(body.data).to.deep.equal({
        id,
        status: 'planned',
        requested_at: requestedAt,
        requested_by: club.owner.id,
        erases_at: new Date(Date.parse(requestedAt) + 14 * day).toISOString(),
        certificate_url: certificateUrl,
      });
      const certificate = await call('GET', new URL(certificateUrl).pathname);
      expect(certificate.body.data).to.include({ kind: 'club', status: 'planned', begins_at: body.data.erases_at });
      expect(Math.abs(Date.parse(requestedAt) - Date.now())).to.be.below(60_000);
    });

    it('lets the run look at the erasure three days before it begins', async () => {
      await ask();
      const [row] = await query<{ days: number }>(
        `SELECT extract(epoch FROM erases_at - looks_at)::int / 86400 AS days FROM erasures WHERE subject_id = $1`,
        [club.id],
      );
      expect(row).to.deep.equal({ days: 3 });
    });

    it('mails all owners and admins immediately, and no other member', async () => {
      const members = await Promise.all(roles.map((role) => buildMember(club.id, role)));
      const informed = members.filter((_, index) => ['owner', 'admin'].includes(roles[index] ?? ''));
      expect(informed).to.have.length(2);
      await ask();
      const expected = [club.owner, ...informed].map(({ id }) => `club_erasure_requested ${id}`);
      expect(await mails()).to.have.members(expected);
    });

    it('answers a second request, also of another owner, with the same record and without a mail', async () => {
      const first = await ask();
      const before = await mails();
      clock.advance(60_000);
      const other = await buildMember(club.id, 'owner');
      const second = await ask(name, other.token);
      expect([second.status, second.body]).to.deep.equal([202, first.body]);
      expect(await mails()).to.deep.equal(before);
    });

    it('plans one erasure if two owners ask at the same time', async () => {
      const other = await buildMember(club.id, 'owner');
      const answers = await Promise.all([ask(), ask(name, other.token), ask(), ask(name, other.token)]);
      expect(answers.map(({ status }) => status)).to.deep.equal([202, 202, 202, 202]);
      expect(new Set(answers.map(({ body }) => body.data.id)).size).to.equal(1);
      expect(await mails()).to.have.length(2);
    });

    it('accepts the name with blanks around it and in another Unicode form', () =>
      eachCase(
        [
          ['Segelclub Zürich', 'Segelclub Zu\u0308rich'],
          ['Cafe\u0301 Ha\u0306nel', 'Caf\u00e9 H\u0103nel'],
          ['نادي الإبحار', '  نادي الإبحار\t'],
          ['מועדון שיט', '\u00a0מועדון שיט\n'],
          ['帆船俱樂部', '帆船俱樂部\u3000'],
          ['セーリング ガクラブ', 'セーリング カ\u3099クラブ'],
          ['한강 요트', '한강 요트'.normalize('NFD')],
        ],
        async ([text = '', typed = '']) => {
          expect(typed).not.to.equal(text);
          await rename(text);
          expect((await ask(typed)).status, text).to.equal(202);
          await query(`DELETE FROM erasures WHERE subject_id = $1`, [club.id]);
        },
      ));

    it('refuses every other name with the path of the field, and changes nothing', async () => {
      await rename('Segelclub Zürich 王');
      await eachCase(
        [
          'segelclub zürich 王',
          'Segelclub Zurich 王',
          'Segelclub  Zürich 王',
          'Segelclub Zürich',
          'x',
          ' ',
          '\u202eSegelclub Zürich 王',
        ],
        async (typed) => {
          const answer = await ask(typed);
          expectError(answer, 'invalid_request');
          expect(answer.body.error.message).to.match(/^name /);
        },
      );
      expectError(await call('POST', path(), { token: club.owner.token, body: {} }), 'malformed_request');
      expectError(await read(), 'not_found');
      expect(await mails()).to.deep.equal([]);
    });

    it('refuses a wrong name also while an erasure is planned', async () => {
      await ask();
      expectError(await ask('Another club'), 'invalid_request');
    });

    it('refuses a club with a subscription that has not ended', async () => {
      await eachCase(['active', 'past_due'] as const, async (status) => {
        await buildPlan(club.id, 'business', { status, subscription_id: 'sub_1' });
        expectError(await ask(), 'plan_active');
      });
      expectError(await read(), 'not_found');
      expect(await mails()).to.deep.equal([]);
    });

    it('accepts a club whose subscription has ended, and a club without one', async () => {
      await buildPlan(club.id, 'business', { status: 'canceled', subscription_id: 'sub_1' });
      expect((await ask()).status).to.equal(202);
      await cancel();
      await buildPlan(club.id, 'business', { status: 'active', subscription_id: null });
      expect((await ask()).status).to.equal(202);
    });

    it('needs a fresh factor, also without a second factor', async () => {
      clock.advance(11 * 60_000);
      expectError(await ask(), 'fresh_factor_required');
      clock.reset();
      await buildSecondFactor(club.owner.id);
      expectError(await ask(), 'fresh_factor_required');
      expectError(await read(), 'not_found');
    });

    it('refuses API keys and every role except owner', async () => {
      const { token } = await buildApiKey(club.id, scopes);
      expectError(await ask(name, token), 'unauthenticated');
      for (const role of roles.filter((one) => one !== 'owner'))
        expectError(await ask(name, (await buildMember(club.id, role)).token), 'role_not_permitted');
    });

    it('repeats the first answer for the same Idempotency-Key, also after a cancellation', async () => {
      const headers = { 'idempotency-key': 'erase-once' };
      const send = () => call('POST', path(), { token: club.owner.token, body: { name }, headers });
      const first = await send();
      await cancel();
      const again = await send();
      expect([again.status, again.body]).to.deep.equal([202, first.body]);
      expectError(await read(), 'not_found');
    });
  });

  describe('GET /v1/clubs/{clubId}/erasure', () => {
    it('shows the record to owners and admins', async () => {
      const { body } = await ask();
      const admin = await buildMember(club.id, 'admin');
      expect((await read()).body).to.deep.equal(body);
      expect((await read(admin.token)).body).to.deep.equal(body);
    });

    it('answers 404 if no erasure is planned', async () => expectError(await read(), 'not_found'));

    it('does not show the erasure of another club', async () => {
      await ask();
      const other = await buildClub();
      expectError(await call('GET', `/v1/clubs/${other.id}/erasure`, { token: other.owner.token }), 'not_found');
      expectError(await read(other.owner.token), 'forbidden');
    });
  });

  describe('DELETE /v1/clubs/{clubId}/erasure', () => {
    it('lets any owner cancel, and mails all owners and admins', async () => {
      await ask();
      const [other, admin] = [await buildMember(club.id, 'owner'), await buildMember(club.id, 'admin')];
      expect((await cancel(other.token)).status).to.equal(204);
      expectError(await read(), 'not_found');
      const expected = [club.owner, other, admin].map(({ id }) => `club_erasure_canceled ${id}`);
      expect(await mails()).to.have.members([`club_erasure_requested ${club.owner.id}`, ...expected]);
    });

    it('lets an owner plan a new erasure afterwards', async () => {
      const first = await ask();
      await cancel();
      const second = await ask();
      expect(second.status).to.equal(202);
      expect(second.body.data.id).not.to.equal(first.body.data.id);
    });

    it('answers 404 if no erasure is planned, and sends no mail', async () => {
      expectError(await cancel(), 'not_found');
      expect(await mails()).to.deep.equal([]);
    });

    it('answers 404 if the erasure has already begun, and leaves it', async () => {
      await ask();
      await query(`UPDATE erasures SET status = 'closing' WHERE subject_id = $1`, [club.id]);
      expectError(await cancel(), 'not_found');
      expect((await read()).body.data.status).to.equal('running');
    });

    it('needs a fresh factor and the role of owner', async () => {
      await ask();
      expectError(await cancel((await buildMember(club.id, 'admin')).token), 'role_not_permitted');
      clock.advance(11 * 60_000);
      expectError(await cancel(), 'fresh_factor_required');
      clock.reset();
      expect((await read()).status).to.equal(200);
    });
  });

  it('shows when the club will be erased in its record, and only while an erasure is planned', async () => {
    const own = async () => (await call('GET', `/v1/clubs/${club.id}`, { token: club.owner.token })).body.data;
    expect(await own()).not.to.have.property('erases_at');
    const { body } = await ask();
    expect(await own()).to.include({ erases_at: body.data.erases_at });
    const changed = await call('PATCH', `/v1/clubs/${club.id}`, { token: club.owner.token, body: { name: 'New' } });
    expect(changed.body.data).to.include({ name: 'New', erases_at: body.data.erases_at });
    await cancel();
    expect(await own()).not.to.have.property('erases_at');
  });

  it('records the request and the cancellation in the audit log, with ids only', async () => {
    const { body } = await ask();
    await cancel();
    const rows = await query<object>(
      `SELECT operation, actor_kind, actor_id, records, fields FROM audit_entries WHERE club_id = $1 ORDER BY created_at`,
      [club.id],
    );
    const actor = { actor_kind: 'administrator', actor_id: club.owner.id };
    expect(rows).to.deep.equal([
      {
        operation: 'requestClubErasure',
        ...actor,
        records: [{ kind: 'created', id: body.data.id }],
        fields: ['name'],
      },
      { operation: 'cancelClubErasure', ...actor, records: [], fields: [] },
    ]);
  });
});
