import { expect } from 'chai';
import { unsubscribeToken, type MailKind } from '../../domain/mail/suppressions/unsubscribe-link.ts';
import { followAccess } from '../../domain/joining/joining.ts';
import { addSuppression } from '../../domain/mail/suppressions/suppressions.ts';
import { removeStudent } from '../../domain/students/students.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildSpace, buildSpaceMembership } from '../toolkit/builders/community.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { communityOf } from '../toolkit/drive/community.ts';
import { rowCounts, testDeps } from '../toolkit/stack/database.ts';

describe('the unsubscribe link of a mail (CAMP-5)', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let student: TestStudent;
  const token = (studentId: Id = student.id, kind: MailKind = 'campaigns') =>
    unsubscribeToken(deps.vault, { kind, studentId });
  const at = (act: 'unsubscribe' | 'resubscribe', of = token(), clubId = club.id) =>
    `/v1/clubs/${clubId}/classroom/mail/${act}/${of}`;
  const suppressions = async () => (await callsOf(club)('GET', '/mail/suppressions')).body.data;
  beforeEach(async () => {
    deps = await testDeps();
    club = await buildClub();
    student = await buildStudent(club.id);
  });

  it('shows the kind of mail that it can end, and changes nothing when the student opens it', async () => {
    const { status, body } = await call('GET', at('unsubscribe'));
    expect(status).to.equal(200);
    expect(body.data).to.deep.include({ kind: 'campaigns', subscribed: true, token: token() });
    expect(await suppressions()).to.deep.equal([]);
  });

  it('unsubscribes by one click, with a form or without a body', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const first = await call('POST', at('unsubscribe'), { raw: 'List-Unsubscribe=One-Click', headers: form });
    expect(first.status).to.equal(200);
    expect(first.body.data.subscribed).to.equal(false);
    const before = await suppressions();
    expect(before).to.have.length(1);
    expect(before[0].left).to.deep.equal(['campaigns']);
    expect(before[0].reason).to.equal(undefined);
    expect((await call('POST', at('unsubscribe'))).body.data.subscribed).to.equal(false);
    expect(await suppressions()).to.deep.equal(before);
  });

  it('can also subscribe again, separately for each kind of mail', async () => {
    const automations = token(student.id, 'automations');
    await call('POST', at('unsubscribe'));
    await call('POST', at('unsubscribe', automations));
    expect((await call('POST', at('resubscribe'))).body.data.subscribed).to.equal(true);
    expect((await suppressions())[0].left).to.deep.equal(['automations']);
    await call('POST', at('resubscribe', automations));
    expect(await suppressions()).to.deep.equal([]);
  });

  it('works independently of manual suppressions', async () => {
    const send = callsOf(club);
    await call('POST', at('unsubscribe'));
    const { id } = (await send('POST', '/mail/suppressions', { email: student.email })).body.data;
    await call('POST', at('resubscribe'));
    expect((await suppressions())[0]).to.include({ reason: 'manual' });
    await call('POST', at('unsubscribe'));
    expect((await send('DELETE', `/mail/suppressions/${id}`)).status).to.equal(204);
    const [suppression] = await suppressions();
    expect(suppression.left).to.deep.equal(['campaigns']);
    expect(suppression).not.to.have.property('reason');
  });

  it('lists the other kinds of mail, and whether the student subscribes to each kind (CAMP-45)', async () => {
    const automations = token(student.id, 'automations');
    const read = async () => (await call('GET', at('unsubscribe'))).body.data.others;
    expect(await read()).to.deep.equal([{ kind: 'automations', subscribed: true, token: automations }]);
    await call('POST', at('unsubscribe', automations));
    expect(await read()).to.deep.equal([{ kind: 'automations', subscribed: false, token: automations }]);
    // A club without spaces sends no daily mail about spaces.
    await buildSpace(club.id);
    expect((await read())[1]).to.deep.equal({
      kind: 'digests',
      subscribed: true,
      token: token(student.id, 'digests'),
    });
    const page = await call('GET', at('unsubscribe'), { headers: { accept: 'text/html' } });
    expect(page.text)
      .to.contain(`href="../unsubscribe/${automations}"`)
      .and.to.contain('You get no automatic messages from');
  });

  describe('the link of the daily mail about spaces (CAMP-45)', () => {
    const digests = () => token(student.id, 'digests');
    const click = (act: 'unsubscribe' | 'resubscribe') => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      return call('POST', at(act, digests()), { raw: 'List-Unsubscribe=One-Click', headers });
    };
    let spaces: ReturnType<typeof communityOf>;
    let [quay, pier, muted]: { id: Id; clubId: Id }[] = [];
    const digestsOf = async () =>
      (await spaces.list()).body.data.map(({ name, digest }: { name: string; digest: boolean }) => [name, digest]);
    beforeEach(async () => {
      spaces = communityOf({ clubId: club.id }, student);
      [quay, pier] = [await buildSpace(club.id, { name: 'Quay' }), await buildSpace(club.id, { name: 'Pier' })];
      muted = await buildSpace(club.id, { name: 'Off' });
      for (const space of [quay, pier]) await buildSpaceMembership(space, student.id, { digest: true });
      await buildSpaceMembership(muted, student.id);
    });

    it('switches `digest` off in each space, and a resubscription restores the settings', async () => {
      const { status, body } = await click('unsubscribe');
      expect([status, body.data.kind, body.data.subscribed]).to.deep.equal([200, 'digests', false]);
      await click('unsubscribe');
      expect((await suppressions())[0].left).to.deep.equal(['digests']);
      const off = [
        ['Quay', false],
        ['Pier', false],
        ['Off', false],
      ];
      expect(await digestsOf()).to.deep.equal(off);
      await spaces.leave(pier?.id ?? '');
      await spaces.join(pier?.id ?? '');
      expect((await click('resubscribe')).body.data.subscribed).to.equal(true);
      expect(await digestsOf()).to.deep.equal([['Quay', true], ...off.slice(1)]);
      expect(await suppressions()).to.deep.equal([]);
    });

    it('also affects spaces that the student joins later', async () => {
      await click('unsubscribe');
      const own = await buildSpace(club.id, { name: 'Own', digestByDefault: true });
      await spaces.join(own.id);
      const auto = await buildSpace(club.id, { name: 'Auto', digestByDefault: true, autoJoin: true });
      const { db } = await testDeps();
      const spaceId = auto.id;
      await db.transaction((tx) =>
        followAccess(tx, { clubId: club.id, studentIds: [student.id], spaceId }, new Date()),
      );
      expect((await digestsOf()).slice(3)).to.deep.equal([
        ['Own', false],
        ['Auto', false],
      ]);
      expect((await spaces.change(own.id, { digest: true })).body.data.digest).to.equal(true);
      expect((await call('GET', at('unsubscribe', digests()))).body.data.subscribed).to.equal(true);
      // Only the space `Own` has `digest` on, because the student switched it on there.
      expect((await digestsOf()).filter(([, digest]: [string, boolean]) => digest)).to.deep.equal([['Own', true]]);
      const later = await buildSpace(club.id, { digestByDefault: true });
      expect((await spaces.join(later.id)).body.data.digest).to.equal(true);
    });

    it('ends only the daily mail, and other links do not end the daily mail', async () => {
      await click('unsubscribe');
      await call('POST', at('unsubscribe'));
      expect((await suppressions())[0].left).to.deep.equal(['campaigns', 'digests']);
      await click('resubscribe');
      expect((await suppressions())[0].left).to.deep.equal(['campaigns']);
      await call('POST', at('resubscribe'));
      expect(await suppressions()).to.deep.equal([]);
    });
  });

  describe('the mail preferences of the classroom (CAMP-45)', () => {
    const own = (method: string, body?: object, by = student) =>
      call(method, `/v1/clubs/${club.id}/classroom/mail/preferences`, { token: by.token, ...(body && { body }) });

    it('show and change the same subscriptions as the unsubscribe links, separately for each kind of mail', async () => {
      const all = { campaigns: true, automations: true, digests: true };
      expect((await own('GET')).body.data).to.deep.equal(all);
      await call('POST', at('unsubscribe'));
      expect((await own('GET')).body.data).to.deep.equal({ ...all, campaigns: false });
      const both = await own('PATCH', { campaigns: true, automations: false, digests: false });
      expect(both.body.data).to.deep.equal({ campaigns: true, automations: false, digests: false });
      expect((await call('GET', at('unsubscribe'))).body.data.subscribed).to.equal(true);
      expect((await call('GET', at('unsubscribe', token(student.id, 'digests')))).body.data.subscribed).to.equal(false);
      expect((await own('PATCH', { automations: true, digests: true })).body.data).to.deep.equal(all);
      expect(await suppressions()).to.deep.equal([]);
    });

    it('belong to the calling student, and cannot lift a suppression that an administrator added', async () => {
      const other = await buildStudent(club.id);
      const { id } = (await callsOf(club)('POST', '/mail/suppressions', { email: student.email })).body.data;
      await own('PATCH', { campaigns: false, automations: false });
      await own('PATCH', { campaigns: true, automations: true });
      expect((await suppressions()).map((one: { id: string; reason: string }) => [one.id, one.reason])).to.deep.equal([
        [id, 'manual'],
      ]);
      expect((await own('GET', undefined, other)).body.data).to.deep.equal({
        campaigns: true,
        automations: true,
        digests: true,
      });
    });

    it('refuse an empty change with 422, and an unknown kind of mail with 400', async () => {
      expectError(await own('PATCH', {}), 'invalid_request');
      expectError(await own('PATCH', { news: false }), 'malformed_request');
      expectError(await own('PATCH', { campaigns: 'no' }), 'malformed_request');
      expect(await suppressions()).to.deep.equal([]);
    });
  });

  it('returns 409 if an administrator adds a suppression above the limit (CAMP-44)', async () => {
    const add = (email: string, most?: number) =>
      addSuppression(deps, club.id, email, new Date(), most).then(
        ({ reason }) => reason,
        ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
      );
    expect(await add('ada@example.com', 2)).to.equal('manual');
    expect(await add('bob@example.com', 2)).to.equal('manual');
    const before = await rowCounts();
    expect(await add('cleo@example.com', 2)).to.match(/^suppression_limit_reached: A club has at most 2 suppressions/);
    expect(await add(' ADA@example.com', 2)).to.equal('manual');
    expect(await rowCounts()).to.deep.equal(before);
    const atOnce = await Promise.all(['d', 'e', 'f', 'g'].map((name) => add(`${name}@example.com`, 4)));
    expect(atOnce.filter((outcome) => outcome === 'manual')).to.have.length(2);
  });

  describe('the import of suppressions (CAMP-44)', () => {
    const importFile = (raw: string | Buffer) =>
      call('POST', `/v1/clubs/${club.id}/mail/suppressions/import`, {
        token: club.owner.token,
        raw: raw as string,
        headers: { 'content-type': 'text/csv' },
      });
    const isSuppressed = async (email: string) =>
      (await callsOf(club)('GET', `/mail/suppressions?q=${encodeURIComponent(email)}`)).body.total === 1;

    it('suppresses each address once, ignores other columns, and reports rows without an address', async () => {
      await callsOf(club)('POST', '/mail/suppressions', { email: 'known@example.com' });
      const unsubscribed = await buildStudent(club.id, { email: 'left@example.com' });
      await call('POST', at('unsubscribe', token(unsubscribed.id)));
      const { status, body } = await importFile(
        [
          'Reason;E-Mail;EMAIL ',
          'hard bounce;x;Ada@Example.com',
          'spam;x;"ada@example.com"',
          ';;known@example.com',
          ';;left@example.com',
          ';;nobody',
          ';;',
          'x;y',
          '',
          ';;bob@example.com',
        ].join('\r\n'),
      );
      expect(status).to.equal(200);
      expect(body.data).to.deep.equal({
        added: 3,
        existing: 1,
        failed: 2,
        errors: [
          { row: 6, code: 'email_invalid', column: 'email' },
          { row: 8, code: 'wrong_column_count' },
        ],
      });
      for (const email of ['ada@example.com', 'bob@example.com', 'known@example.com', 'left@example.com'])
        expect(await isSuppressed(email), email).to.equal(true);
      expect((await suppressions()).map(({ reason }: { reason: string }) => reason)).to.deep.equal(
        Array.from({ length: 4 }, () => 'manual'),
      );
      const { body: again } = await importFile('email\nada@example.com\n');
      expect(again.data).to.deep.equal({ added: 0, existing: 1, failed: 0, errors: [] });
    });

    it('accepts a row that is split between two pieces of a large file', async () => {
      const rows = Array.from({ length: 9_000 }, (_, row) => `somebody-${row}@a-long-domain-of-knots.example,é`);
      const { body } = await importFile(`email,note\n${rows.join('\n')}`);
      expect(body.data).to.deep.equal({ added: 9_000, existing: 0, failed: 0, errors: [] });
      for (const row of [0, 4_711, 8_999])
        expect(await isSuppressed(`somebody-${row}@a-long-domain-of-knots.example`)).to.equal(true);
    });

    for (const [what, raw] of [
      ['no column `email`', 'mail\nada@example.com\n'],
      ['only a blank', ' '],
      ['UTF-16', Buffer.from('email\nada@example.com\n', 'utf16le')],
      ['one row too many', `email\n${Array.from({ length: 50_001 }, (_, row) => `${row}@knots.example`).join('\n')}`],
      ['an unclosed quote', `email,x\nada@example.com,"${'x'.repeat(300_000)}\n`],
    ] as const)
      it(`returns 422 for a file with ${what}, and writes nothing`, async () => {
        const before = await rowCounts();
        expectError(await importFile(raw), 'invalid_request');
        expect(await rowCounts()).to.deep.equal(before);
      });

    it('can refuse a file before all of it arrives, and keeps the connection open', async () => {
      const rows = Array.from({ length: 9_000 }, (_, row) => `somebody-${row}@a-long-domain-of-knots.example`);
      expectError(await importFile(`mail\n${rows.join('\n')}`), 'invalid_request');
      for (const row of [1, 2]) expect(await isSuppressed(rows[row] ?? '')).to.equal(false);
    });

    it('returns 413 for more than 4 MB, and writes nothing', async () => {
      const before = await rowCounts();
      expectError(await importFile(`email\n${'ada@example.com\n'.repeat(270_000)}`), 'body_too_large');
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  it('works even if the plan has no campaigns or the student was removed', async () => {
    await buildPlan(club.id, 'starter');
    expect((await call('POST', at('unsubscribe'))).status).to.equal(200);
    await removeStudent(deps, club.id, student.id, new Date());
    expect((await call('GET', at('unsubscribe'))).body.data.subscribed).to.equal(false);
    expect((await call('POST', at('resubscribe'))).body.data.subscribed).to.equal(false);
  });

  it('returns 404 for forged and unknown tokens and tokens of other clubs, and writes nothing', async () => {
    const other = await buildStudent((await buildClub()).id);
    const forged = Buffer.from(token(), 'base64url');
    forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
    for (const bad of [forged.toString('base64url'), token(other.id), token(newId()), 'x', `${token()}A`]) {
      expectError(await call('POST', at('unsubscribe', bad)), 'not_found');
      expectError(await call('GET', at('unsubscribe', bad)), 'not_found');
    }
    expect(await suppressions()).to.deep.equal([]);
  });

  it('allows 600 requests a minute for one student, from all IP addresses together', async () => {
    const first = await call('POST', at('unsubscribe'));
    for (let calls = 1; calls < 65; calls++) await call('POST', at('unsubscribe'));
    expect(first.status).to.equal(200);
    expect((await call('POST', at('unsubscribe'))).status).to.equal(200);
  });

  it('opens a page in browsers that asks before a change, and confirms it', async () => {
    const html = { accept: 'text/html' };
    const asks = await call('GET', at('unsubscribe'), { headers: html });
    expect(asks.headers.get('content-security-policy')).to.contain("default-src 'none'");
    expect(asks.text).to.contain(`action="../unsubscribe/${token()}"`).and.to.contain('<form method="post"');
    const confirmation = await call('POST', at('unsubscribe'), { headers: html });
    expect(confirmation.text).to.contain('You are unsubscribed').and.to.contain(`action="../resubscribe/${token()}"`);
    expect((await call('POST', at('resubscribe'), { headers: html })).text).to.contain('You are subscribed again');
    for (const bad of ['x', 'x'.repeat(201)])
      expect((await call('GET', at('unsubscribe', bad), { headers: html })).text).to.contain('This link does not work');
  });
});
