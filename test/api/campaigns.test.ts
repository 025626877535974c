import { expect } from 'chai';
import { previewToken } from '../../domain/campaigns/drafts/preview-tokens.ts';
import { fillEmailKeys } from '../../domain/identity/accounts/email-keys.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { HandOver } from '../../platform/infra/smtp/smtp-hand-over.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, callAt, clock, expectError } from '../toolkit/drive/api.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { sendCampaign } from '../toolkit/drive/campaigns.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { serveApp } from '../toolkit/stack/app.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

const content = {
  subject: 'Hi {{student_first_name|you}}',
  blocks: [{ kind: 'heading', text: 'Ahoy {{student_name}}' }],
};
const audience = { match: 'all', rules: [] };

describe('campaigns', () => {
  let club: TestClub;
  let send: ClubCalls;
  const create = async (body: object = {}): Promise<{ id: Id } & Record<string, unknown>> =>
    (await send('POST', '/campaigns', { name: 'Spring', content, ...body })).body.data;
  const setSender = () => send('PUT', '/mail/sender', { from_name: 'Knots & Co', postal_address: 'Quay 1' });
  beforeEach(async () => {
    club = await buildClub();
    send = callsOf(club);
  });

  describe('drafts', () => {
    it('creates a campaign with the sent fields, and returns the record that later reads return', async () => {
      const { status, body } = await send('POST', '/campaigns', {
        name: ' Spring  knots ',
        content,
        audience,
        send_window: { from: 540, to: 1_260 },
      });
      expect(status).to.equal(201);
      const { id, created_at: at } = body.data;
      expect(body.data).to.deep.equal({
        id,
        name: 'Spring knots',
        status: 'draft',
        content,
        audience,
        send_window: { from: 540, to: 1_260 },
        recipients: 0,
        created_at: at,
        updated_at: at,
      });
      expect((await send('GET', `/campaigns/${id}`)).body).to.deep.equal(body);
    });

    it('lists campaigns newest first, filtered by status, in pages', async () => {
      await callsOf(await buildClub())('POST', '/campaigns', { name: 'Other' });
      const [first, second] = [await create(), await create()];
      const ids = async (query: string) => {
        const { body } = await send('GET', `/campaigns${query}`);
        return [body.total, ...body.data.map(({ id }: { id: Id }) => id)];
      };
      expect(await ids('')).to.deep.equal([2, second.id, first.id]);
      expect(await ids('?page=2&page_size=1')).to.deep.equal([2, first.id]);
      expect(await ids('?status=sent')).to.deep.equal([0]);
    });

    it('lists campaigns without blocks and rules (CAMP-18)', async () => {
      const rules = [{ kind: 'has_tag', negate: false, tag_ids: [newId()] }];
      const long = { subject: 'ß'.repeat(1_000), preheader: 'x', blocks: [{ kind: 'heading', text: 'Ahoy' }] };
      const { id } = await create({ content: long, audience: { match: 'any', rules } });
      await create({ content: { blocks: [] } });
      const rows = (await send('GET', '/campaigns')).body.data;
      expect(
        rows.map(({ is_summary, content: one, audience: whom }: Record<string, unknown>) => [is_summary, one, whom]),
      ).to.deep.equal([
        [true, { blocks: [] }, { match: 'all', rules: [] }],
        [true, { subject: 'ß'.repeat(200), blocks: [] }, { match: 'any', rules: [] }],
      ]);
      const { data } = (await send('GET', `/campaigns/${id}`)).body;
      expect(data).to.deep.include({ content: long, audience: { match: 'any', rules } });
      expect(data).not.to.have.property('is_summary');
    });

    it('replaces the sent fields, and removes the time window if the window is a whole day', async () => {
      const created = await create({ send_window: { from: 0, to: 60 } });
      const change = async (body: object) => (await send('PATCH', `/campaigns/${created.id}`, body)).body.data;
      const named = await change({ name: 'Other' });
      expect(named).to.deep.equal({ ...created, name: 'Other', updated_at: named.updated_at });
      const { send_window: _, ...rest } = named;
      const open = await change({ send_window: { from: 0, to: 0 }, content: { blocks: [] } });
      expect(open).to.deep.equal({ ...rest, content: { blocks: [] }, updated_at: open.updated_at });
    });

    it('duplicates a campaign as a new draft with the same contents', async () => {
      const created = await create({ send_window: { from: 0, to: 60 } });
      const { status, body } = await send('POST', `/campaigns/${created.id}/duplicate`);
      expect(status).to.equal(200);
      expect(body.data.id).not.to.equal(created.id);
      expect({
        ...body.data,
        id: created.id,
        created_at: created['created_at'],
        updated_at: created['updated_at'],
      }).to.deep.equal(created);
    });

    it('deletes a draft, and then returns 404', async () => {
      const { id } = await create();
      expect((await send('DELETE', `/campaigns/${id}`)).status).to.equal(204);
      expectError(await send('GET', `/campaigns/${id}`), 'not_found');
    });

    it('refuses to change or delete a scheduled campaign with 409', async () => {
      const { id } = await create();
      await setSender();
      await buildStudent(club.id);
      const { data } = (await send('POST', `/campaigns/${id}/schedule`, { at: '2099-01-01T09:00' })).body;
      expectError(await send('PATCH', `/campaigns/${id}`, { name: 'x' }), 'campaign_not_draft');
      expectError(await send('DELETE', `/campaigns/${id}`), 'campaign_not_draft');
      expect((await send('GET', `/campaigns/${id}`)).body.data).to.deep.equal(data);
    });

    it('returns 402 if the club’s plan has no campaigns, and writes nothing', async () => {
      const { id } = await create();
      await buildPlan(club.id, 'starter');
      const before = await rowCounts();
      expectError(await send('POST', '/campaigns', { name: 'x' }), 'feature_not_in_plan');
      expectError(await send('PATCH', `/campaigns/${id}`, { name: 'x' }), 'feature_not_in_plan');
      expectError(await send('POST', `/campaigns/${id}/duplicate`), 'feature_not_in_plan');
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  it('returns 409 campaign_limit_reached for the 5,001st campaign, until a draft is deleted (CAMP-12)', async () => {
    const { id } = await create();
    const source = await testDatabase();
    await source.query(
      `INSERT INTO campaigns (id, club_id, name, status, content, audience, created_at, updated_at)
       SELECT gen_random_uuid(), $1, 'Old', 'sent', '{}', '{}', now(), now() FROM generate_series(1, 4999)`,
      [club.id],
    );
    expectError(await send('POST', '/campaigns', { name: 'x' }), 'campaign_limit_reached');
    expectError(await send('POST', `/campaigns/${id}/duplicate`), 'campaign_limit_reached');
    await send('DELETE', `/campaigns/${id}`);
    expect((await send('POST', '/campaigns', { name: 'x' })).status).to.equal(201);
    const [{ count }] = await source.query(`SELECT count(*)::int FROM campaigns WHERE club_id = $1`, [club.id]);
    expect(count).to.equal(5_000);
  });

  it('returns 422 for a web address in the sender’s name (DEC-64)', async () => {
    const before = await rowCounts();
    for (const name of ['www.prize.example', 'Knots https://prize.example', 'prize.top'])
      expectError(await send('PUT', '/mail/sender', { from_name: name, postal_address: 'Quay 1' }), 'invalid_request');
    expect(await rowCounts()).to.deep.equal(before);
  });

  describe('the check of a draft', () => {
    const problems = async (id: Id) =>
      (await send('GET', `/campaigns/${id}/problems`)).body.data.problems.map(
        ({ path, code }: { path: string; code: string }) => `${path} ${code}`,
      );

    it('names the problems of e-mail, audience and sender, and finds none in a complete draft', async () => {
      const other = await buildClub();
      const tag = (await callsOf(other)('POST', '/tags', { name: 'Crew' })).body.data.id;
      const { id } = await create({
        content: {
          blocks: [
            { kind: 'image', media_id: newId() },
            { kind: 'button', text: '{{who}}', url: 'javascript:1' },
          ],
        },
        audience: {
          match: 'any',
          rules: [
            { kind: 'has_tag', negate: false, tag_ids: [tag] },
            { kind: 'email_opened', negate: false, step_id: 'x' },
            { kind: 'course_progress', negate: false, course_id: newId(), tag_ids: [] },
          ],
        },
      });
      expect(await problems(id)).to.deep.equal([
        '$.content.subject missing_field',
        '$.content.blocks[0].media_id unknown_media',
        '$.content.blocks[1].text unknown_variable',
        '$.content.blocks[1].url invalid_url',
        '$.audience.rules[0].tag_ids[0] unknown_id',
        '$.audience.rules[1] rule_not_here',
        '$.audience.rules[2].tag_ids field_of_another_kind',
        '$.audience.rules[2].course_id unknown_id',
        '$.audience.rules[2].percent missing_field',
        '$ missing_sender',
      ]);
      const refused = await send('POST', `/campaigns/${id}/schedule`, {});
      expectError(refused, 'invalid_request');
      expect(refused.body.error.message).to.contain('$.content.subject');
      const whole = await create();
      await setSender();
      await buildStudent(club.id);
      expect(await problems(whole.id)).to.deep.equal([]);
    });

    it('finds an empty audience, and a schedule then returns 422 with the name of the field', async () => {
      await setSender();
      const tag = (await send('POST', '/tags', { name: 'Crew' })).body.data.id;
      const crew = { match: 'all', rules: [{ kind: 'has_tag', negate: false, tag_ids: [tag] }] };
      const { id } = await create({ audience: crew });
      const suppressed = await buildStudent(club.id);
      await send('PUT', `/students/${suppressed.id}/tags/${tag}`);
      await buildStudent(club.id);
      await send('POST', '/mail/suppressions', { email: suppressed.email });
      expect(await problems(id)).to.deep.equal(['$.audience empty_audience']);
      expect((await send('GET', `/campaigns/${id}/checks`)).body.data.problems).to.deep.equal([
        {
          path: '$.audience',
          code: 'empty_audience',
          message: 'The campaign would reach no student. `audience` shows how many students are left out, and why.',
        },
      ]);
      const before = await rowCounts();
      for (const at of [undefined, '2099-01-01T09:00']) {
        const refused = await send('POST', `/campaigns/${id}/schedule`, { ...(at && { at }) });
        expectError(refused, 'invalid_request');
        expect(refused.body.error.message).to.contain('$.audience: The campaign would reach no student.');
      }
      expect(await rowCounts()).to.deep.equal(before);
      expect((await send('GET', `/campaigns/${id}`)).body.data.status).to.equal('draft');
    });

    it('shows the number of reached students, and the number of omitted students for each reason', async () => {
      const [ada, bob, cleo] = [await buildStudent(club.id), await buildStudent(club.id), await buildStudent(club.id)];
      await buildStudent(club.id, { verified: false }); // This student's account was opened by the club.
      const pending = await buildStudent(club.id, { verified: false });
      await (await testDatabase()).query(`UPDATE students SET opened_by = 'sign_up' WHERE id = $1`, [pending.id]);
      await send('POST', '/mail/suppressions', { email: bob.email.toUpperCase() });
      expect(ada.id).not.to.equal(cleo.id);
      const { id } = await create();
      expect((await send('GET', `/campaigns/${id}/audience`)).body.data).to.deep.equal({
        reached: 3,
        left_out: { unconfirmed: 1, suppressed: 1, unsubscribed: 0 },
      });
    });

    it('compares the suppressed addresses with the students’ current addresses', async () => {
      const { db, vault } = await testDeps();
      const source = await testDatabase();
      const suppress = (email: string) => send('POST', '/mail/suppressions', { email });
      const readAudience = async () => (await send('GET', `/campaigns/${id}/audience`)).body.data;
      const { id } = await create();
      for (const email of ['Bob@example.com', 'new@example.com', 'raw@example.com']) await suppress(email);
      const created = await send('POST', '/students', { name: 'Bob', email: 'bob@EXAMPLE.com' });
      const moved = await buildStudent(club.id, { email: 'old@example.com' });
      const raw = await buildStudent(club.id);
      expect(await readAudience()).to.deep.equal({
        reached: 2,
        left_out: { unconfirmed: 0, suppressed: 1, unsubscribed: 0 },
      });
      await send('PATCH', `/students/${moved.id}`, { email: 'new@example.com' });
      await send('PATCH', `/students/${created.body.data.id}`, { email: 'bobby@example.com' });
      expect(await readAudience()).to.deep.equal({
        reached: 2,
        left_out: { unconfirmed: 0, suppressed: 1, unsubscribed: 0 },
      });
      // Like a process of an older release, changes the address and keeps the search key of the old address. Upkeep must replace the key.
      await source.query(`UPDATE students SET email = 'raw@example.com' WHERE id = $1`, [raw.id]);
      expect((await readAudience()).reached).to.equal(2);
      await fillEmailKeys({ db, vault });
      expect(await readAudience()).to.deep.equal({
        reached: 1,
        left_out: { unconfirmed: 0, suppressed: 2, unsubscribed: 0 },
      });
    });

    it('allows a preview, with or without a named student, only of a complete draft', async () => {
      const { id: studentId } = await buildStudent(club.id, { name: 'Ada <Example>' });
      const { id } = await create();
      await setSender();
      const preview = async (query: string) => (await send('GET', `/campaigns/${id}/preview${query}`)).body.data;
      const own = await preview(`?student_id=${studentId}`);
      expect(own).to.include({ subject: 'Hi Ada', html_bytes: Buffer.byteLength(own.html) });
      expect(own.html).to.contain('Ahoy Ada &lt;Example&gt;').and.to.contain('Knots &amp; Co');
      expect((await preview('')).subject).to.equal('Hi you');
      expect(own).not.to.have.property('preheader');
      expectError(await send('GET', `/campaigns/${id}/preview?student_id=${newId()}`), 'not_found');
      const unfinished = await create({ content: { blocks: [] } });
      expectError(await send('GET', `/campaigns/${unfinished.id}/preview`), 'campaign_has_problems');
    });
  });

  describe('the largest e-mails', () => {
    const blocks = (count: number, text: string) => ({
      subject: 'News',
      blocks: Array.from({ length: count }, () => ({ kind: 'text', text })),
    });

    it('can have many problems: the check lists 100 of them, and counts all', async () => {
      const { id } = await create({ content: blocks(51, '{{'.repeat(5_000)) });
      const { problems, count } = (await send('GET', `/campaigns/${id}/problems`)).body.data;
      expect([problems.length, count]).to.deep.equal([100, 255_002]); // the count includes the empty audience and the missing sender
      const checks = (await send('GET', `/campaigns/${id}/checks`)).body.data;
      expect([checks.problems, checks.problem_count]).to.deep.equal([problems, count]);
      expectError(await send('POST', `/campaigns/${id}/schedule`, {}), 'invalid_request');
    });

    it('cause 409 if the preview is too large for one answer, but the checks still show the size', async () => {
      const { id: studentId } = await buildStudent(club.id, { name: `Ada ${'x'.repeat(190)}` });
      const { id } = await create({ content: blocks(20, '{{student_name}} '.repeat(500)) });
      const preview = await send('GET', `/campaigns/${id}/preview`);
      expect(preview.status).to.equal(200);
      expectError(await send('GET', `/campaigns/${id}/preview?student_id=${studentId}`), 'campaign_has_problems');
      const { previews } = (await send('GET', `/campaigns/${id}/previews`)).body.data;
      expect(previews.map((one: Record<string, unknown>) => one['student_id'])).to.deep.equal([studentId]);
      expect(previews[0].html_bytes).to.be.within(20 * 500 * 195, 20 * 500 * 195 + 30_000);
      const checks = (await send('GET', `/campaigns/${id}/checks`)).body.data;
      expect(checks.html_bytes).to.equal(preview.body.data.html_bytes);
    });

    it('have a preview page of at most 1 MB, if necessary without the e-mail', async () => {
      const pageOf = async (characters: number) => {
        const { id } = await create({ content: blocks(80, 'x'.repeat(characters)) });
        const { page_url: url } = (await send('GET', `/campaigns/${id}/preview`)).body.data;
        const { status, text } = await call('GET', new URL(url).pathname, { headers: { accept: 'text/html' } });
        expect(status).to.equal(200);
        return { frames: text.split('<iframe').length - 1, bytes: Buffer.byteLength(text) };
      };
      const pages = [await pageOf(1_000), await pageOf(4_500), await pageOf(5_300)];
      expect(pages.map(({ frames }) => frames)).to.deep.equal([2, 1, 1]);
      for (const { bytes } of pages) expect(bytes).to.be.below(1_000_000);
    });

    it('have at most 60 preview pages a minute for each IP address, then cause 429 (LIM-29)', async () => {
      const { id } = await create();
      const { page_url: url } = (await send('GET', `/campaigns/${id}/preview`)).body.data;
      const open = (headers = {}) => call('GET', new URL(url).pathname, { ip: '203.0.113.9', headers });
      const answers = await Promise.all(Array.from({ length: 60 }, () => open()));
      expect(answers.map(({ status }) => status)).to.deep.equal(Array.from({ length: 60 }, () => 200));
      expectError(await open(), 'rate_limited');
      const page = await open({ accept: 'text/html' });
      expect([page.status, Number(page.headers.get('retry-after')) > 0]).to.deep.equal([429, true]);
      expect((await call('GET', new URL(url).pathname)).status).to.equal(200);
    });
  });

  describe('bad input', () => {
    const withBlocks = (blocks: object[], more: object = {}) => ({ subject: 'Hi', blocks, ...more });
    const heading = (text: string) => ({ kind: 'heading', text });

    it('is listed as a problem with its location, and causes 422 if the campaign is scheduled', async () => {
      await setSender();
      await buildStudent(club.id);
      const picture = await buildMedia((await buildClub()).id, { bytes: png() });
      const source = await testDatabase();
      await source.query(`UPDATE media SET kind = 'image', mime = 'image/png' WHERE id = $1`, [picture.id]);
      const cases: Record<string, object> = {
        '$.content.blocks[0].text unknown_variable': withBlocks([heading('{{password}}')]),
        '$.content.blocks[0].text unclosed_variable': withBlocks([heading('Hi {{student_name')]),
        '$.content.subject unclosed_variable': withBlocks([heading('Ahoy')], { subject: 'Hi {{student_name' }),
        '$.content.blocks[0].url invalid_url': withBlocks([{ kind: 'button', text: 'Go', url: 'javascript:alert(1)' }]),
        '$.content.blocks[0].text invalid_url': withBlocks([{ kind: 'text', text: '[Go](javascript:alert)' }]),
        '$.content.blocks[0].media_id unknown_media': withBlocks([
          { kind: 'image', media_id: picture.id, alt: 'A boat' },
        ]),
        '$.content.subject line_break': withBlocks([heading('Ahoy')], { subject: 'Hi\r\nBcc: eve@example.com' }),
        '$.content.preheader line_break': withBlocks([heading('Ahoy')], { preheader: 'Hi\nthere' }),
        '$.content.reply_to invalid_address': withBlocks([heading('Ahoy')], {
          reply_to: 'a@example.com\r\nBcc: e@example.com',
        }),
      };
      await eachCase(Object.entries(cases), async ([expected, bad]) => {
        const { id } = await create({ content: bad });
        const found = (await send('GET', `/campaigns/${id}/problems`)).body.data.problems;
        expect(found.map(({ path, code }: Record<string, string>) => `${path} ${code}`)).to.deep.equal([expected]);
        const before = await rowCounts();
        expectError(await send('POST', `/campaigns/${id}/schedule`, {}), 'invalid_request');
        expectError(await send('GET', `/campaigns/${id}/preview`), 'campaign_has_problems');
        expectError(await send('POST', `/campaigns/${id}/test-mails`), 'campaign_has_problems');
        expect(await rowCounts()).to.deep.equal(before);
      });
    });

    it('is refused with 413 or 422 if blocks are huge or unknown, or if the sender has two lines', async () => {
      const { id } = await create();
      const before = await rowCounts();
      const large = withBlocks(Array.from({ length: 100 }, () => heading('x'.repeat(100_000))));
      expectError(await send('POST', '/campaigns', { name: 'Large', content: large }), 'body_too_large');
      expectError(await send('PATCH', `/campaigns/${id}`, { content: large }), 'body_too_large');
      const kind = withBlocks([{ kind: 'script', text: 'x' }]);
      expectError(await send('PATCH', `/campaigns/${id}`, { content: kind }), 'invalid_request');
      for (const from_name of ['Knots\r\nBcc: eve@example.com', 'Knots\nCo', ''])
        expectError(await send('PUT', '/mail/sender', { from_name, postal_address: 'Quay 1' }), 'invalid_request');
      const crew = { from_name: 'Knots', postal_address: 'Quay 1', reply_to: 'a@example.com\r\nBcc: e@example.com' };
      expectError(await send('PUT', '/mail/sender', crew), 'invalid_request');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('causes 409 if it changes, deletes or schedules a campaign that is not a draft', async () => {
      await setSender();
      await buildStudent(club.id);
      const source = await testDatabase();
      await eachCase(['scheduled', 'sending', 'paused', 'sent', 'canceled'], async (status) => {
        const { id } = await create();
        await source.query(`UPDATE campaigns SET status = $2, pause_reason = $3 WHERE id = $1`, [
          id,
          status,
          status === 'paused' ? 'by_hand' : null,
        ]);
        const before = (await send('GET', `/campaigns/${id}`)).body.data;
        expectError(await send('PATCH', `/campaigns/${id}`, { content }), 'campaign_not_draft');
        expectError(await send('DELETE', `/campaigns/${id}`), 'campaign_not_draft');
        expectError(await send('POST', `/campaigns/${id}/schedule`, {}), 'campaign_not_draft');
        expect((await send('GET', `/campaigns/${id}`)).body.data).to.deep.equal(before);
      });
    });

    it('is not reported for right-to-left text, emoji and international names', async () => {
      await setSender();
      const words = 'שלום 🎉 Grüße';
      const { id: studentId } = await buildStudent(club.id, { name: 'שרה 👩‍👩‍👧 Ωmega' });
      const blocks = [
        heading(`${words} {{student_name}}`),
        { kind: 'button', text: words, url: 'https://bücher.example/straße?q=שלום' },
      ];
      const { id } = await create({ content: { subject: `${words} {{student_first_name}}`, blocks } });
      expect((await send('GET', `/campaigns/${id}/problems`)).body.data.problems).to.deep.equal([]);
      const preview = (await send('GET', `/campaigns/${id}/preview?student_id=${studentId}`)).body.data;
      expect(preview.subject).to.equal(`${words} שרה`);
      expect(preview.html)
        .to.contain(`${words} \u2068שרה 👩‍👩‍👧 Ωmega\u2069`)
        .and.to.contain('href="https://bücher.example/straße?q=שלום"');
      expect(preview.text).to.contain(`${words}: https://bücher.example/straße?q=שלום`);
    });
  });

  describe('previews of a campaign (CAMP-46)', () => {
    const previews = async (id: Id) => (await send('GET', `/campaigns/${id}/previews`)).body.data.previews;
    const minute = 60_000;
    const open = (url: string, accept = 'application/json') =>
      call('GET', new URL(url).pathname, { headers: { accept } });

    it('are made for an unconfirmed student, and for the student with the longest name', async () => {
      const removed = await buildStudent(club.id, { name: 'Gone 🎉' });
      const suppressed = await buildStudent(club.id, { name: 'Suppressed 🎉' });
      await buildStudent(club.id, { name: 'Pending 🎉', verified: false, openedBy: 'sign_up' });
      await send('POST', '/mail/suppressions', { email: suppressed.email });
      await send('DELETE', `/students/${removed.id}`);
      await buildStudent(await buildClub().then((other) => other.id), { name: 'Other 🎉' });
      const opened = await buildStudent(club.id, { name: 'Never Seen', verified: false });
      const ada = await buildStudent(club.id, { name: 'Ada <Example>' });
      const { id } = await create();
      const found = await previews(id);
      expect(
        found.map((each: Record<string, string>) => [each['because'], each['student_id'], each['subject']]),
      ).to.deep.equal([
        ['unconfirmed', opened.id, 'Hi you'],
        ['longest_name', ada.id, 'Hi Ada'],
      ]);
      const empty = { match: 'any', rules: [] };
      expect(await previews((await create({ audience: empty })).id)).to.deep.equal([]);
      const unfinished = await create({ content: { blocks: [] } });
      expectError(await send('GET', `/campaigns/${unfinished.id}/previews`), 'campaign_has_problems');
    });

    it('show the current e-mail on a page for 15 minutes', async () => {
      await setSender();
      const { id: studentId } = await buildStudent(club.id, { name: 'Ada <Example>' });
      const { id } = await create({ content: { ...content, preheader: 'For {{student_name}} of {{club_name}}' } });
      const { body } = await send('GET', `/campaigns/${id}/preview?student_id=${studentId}`);
      const { page_url: url, page_expires_at: end, html, text, subject, preheader } = body.data;
      expect(new Date(end).getTime() - clock.now().getTime()).to.be.within(14.9 * minute, 15.1 * minute);
      const { name } = (await send('GET', '')).body.data;
      expect(preheader).to.equal(`For Ada <Example> of ${name}`);
      expect((await open(url)).body.data).to.deep.equal({
        campaign_name: 'Spring',
        language: 'en',
        student_name: 'Ada <Example>',
        subject,
        preheader,
        html,
        text,
        expires_at: end,
      });
      await send('PATCH', `/campaigns/${id}`, { content: { ...content, subject: 'Ahoy' } });
      expect((await open(url)).body.data.subject).to.equal('Ahoy');
      await send('PATCH', `/campaigns/${id}`, { content: { blocks: [] } });
      expectError(await open(url), 'campaign_has_problems');
      expect((await open(url, 'text/html')).status).to.equal(409);
      await send('PATCH', `/campaigns/${id}`, { content });
      clock.advance(14 * minute);
      expect((await open(url)).status).to.equal(200);
      clock.advance(minute + 1_000);
      expectError(await open(url), 'not_found');
    });

    it('are pages that run no script, send no referrer, and cannot be cached or shown in a frame', async () => {
      const { id } = await create();
      const { page_url: url } = (await send('GET', `/campaigns/${id}/preview`)).body.data;
      const { status, headers, text } = await open(url, 'text/html');
      expect(status).to.equal(200);
      expect(Object.fromEntries(headers)).to.include({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'content-security-policy':
          "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-popups allow-popups-to-escape-sandbox",
      });
      expect(text.match(/<iframe [^>]*?srcdoc=/g)).to.deep.equal([
        '<iframe title="The e-mail" sandbox="allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer" srcdoc=',
        '<iframe class="phone" title="The e-mail on a phone" sandbox="allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer" srcdoc=',
      ]);
      expect(text).not.to.contain('<script').and.not.to.contain('classroom/mail/unsubscribe');
    });

    it('return the same 404 for a forged token, a deleted campaign and a student outside the club', async () => {
      const { vault } = await testDeps();
      const student = await buildStudent(club.id);
      const stranger = await buildStudent((await buildClub()).id);
      const { id } = await create();
      const deleted = await create();
      const urlOf = async (campaignId: Id) =>
        (await send('GET', `/campaigns/${campaignId}/preview?student_id=${student.id}`)).body.data.page_url;
      const [url, ofDeleted] = [await urlOf(id), await urlOf(deleted.id)];
      const expiresAt = new Date(clock.now().getTime() + minute);
      const foreign = `http://x/mail/previews/${previewToken(vault, { campaignId: id, studentId: stranger.id, expiresAt })}`;
      await send('DELETE', `/campaigns/${deleted.id}`);
      const pages = [];
      const forged = `${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`;
      for (const wrong of [forged, `${url}AAAA`, ofDeleted, foreign]) {
        expectError(await open(wrong), 'not_found');
        pages.push((await open(wrong, 'text/html')).text);
      }
      await send('DELETE', `/students/${student.id}`);
      expectError(await open(url), 'not_found');
      pages.push((await open(url, 'text/html')).text);
      expect(new Set(pages).size).to.equal(1);
      expect(pages[0]).to.contain('This preview has expired').and.not.to.contain(student.email);
    });

    it('cause log lines that contain neither the token nor the student', async () => {
      const { id: studentId, email } = await buildStudent(club.id, { name: 'Quite Unmistakable' });
      const { id } = await create();
      const { page_url: url } = (await send('GET', `/campaigns/${id}/preview?student_id=${studentId}`)).body.data;
      const app = await serveApp({});
      try {
        await callAt(app.base, 'GET', new URL(url).pathname, { headers: { accept: 'text/html' } });
      } finally {
        await app.close();
      }
      const log = app.log.join('\n');
      expect(log).to.contain('"route":"/mail/previews/{token}"');
      for (const secret of [url.split('/').at(-1) ?? url, 'Unmistakable', email]) expect(log).not.to.contain(secret);
    });
  });

  describe('checks before a campaign is sent (CAMP-42)', () => {
    const checks = async (id: Id) => (await send('GET', `/campaigns/${id}/checks`)).body.data;
    beforeEach(() => buildStudent(club.id));
    const codes = ({ problems, warnings }: Record<string, { path: string; code: string }[]>) =>
      [...(problems ?? []), ...(warnings ?? [])].map(({ path, code }) => `${path} ${code}`);
    /**
     * Creates a campaign that was sent a day ago, with the given number of mails. The first of these mails bounced, and the last ones got
     * complaints.
     */
    const buildSent = async ({ mails, bounced = 0, complained = 0 }: Record<string, number>) => {
      const source = await testDatabase();
      const student = await buildStudent(club.id);
      const { id } = await create({ name: 'Sent' });
      await source.query(
        `UPDATE campaigns SET status = 'sent', frozen_at = now() - interval '1 day', scheduled_at = now() WHERE id = $1`,
        [id],
      );
      await source.query(
        `WITH others AS (
           INSERT INTO students (id, club_id, name, email, created_at)
           SELECT gen_random_uuid(), club_id, 'Many', n || '-' || id || '@example.com', now() FROM students, generate_series(1, $3::int) AS n WHERE id = $2
           RETURNING id, club_id, split_part(email, '-', 1)::int AS n)
         INSERT INTO mails (id, club_id, campaign_id, student_id, student_name, student_email, status, next_attempt_at, created_at, sent_at, bounced_at, complained_at)
         SELECT gen_random_uuid(), club_id, $1, id, '', '', 'sent', now(), now(), now(),
                CASE WHEN n <= $4 THEN now() END, CASE WHEN n > $3 - $5 THEN now() END FROM others`,
        [id, student.id, mails, bounced, complained],
      );
    };

    it('report no problem for a complete campaign, and show its sender address', async () => {
      await setSender();
      const { id } = await create();
      const found = await checks(id);
      expect(codes(found)).to.deep.equal(['$ domain_none']);
      expect(found.from).to.deep.equal({ address: 'no-reply@club-learning.localhost', aligned: false });
      expect(found.html_bytes).to.equal((await send('GET', `/campaigns/${id}/preview`)).body.data.html_bytes);
      expect(found).not.to.have.any.keys('recent', 'mails_of_day');
    });

    it('name each problem and each warning once, each with its location', async () => {
      const { id } = await create({ content: { blocks: [{ kind: 'image', media_id: newId() }, { kind: 'divider' }] } });
      const found = await checks(id);
      expect(codes(found)).to.deep.equal([
        '$.content.subject missing_field',
        '$.content.blocks[0].media_id unknown_media',
        '$ missing_sender',
        '$.content.blocks[0].alt missing_alt',
        '$ domain_none',
      ]);
      expect(found).not.to.have.property('html_bytes');
    });

    it('warn if mailboxes would truncate the e-mail, but still allow the schedule', async () => {
      await setSender();
      const text = 'a rope '.repeat(1_400);
      const blocks = Array.from({ length: 11 }, () => ({ kind: 'text', text }));
      const { id } = await create({ content: { subject: 'Long', blocks } });
      expect(codes(await checks(id))).to.deep.equal(['$.content.blocks too_large', '$ domain_none']);
      expect((await send('POST', `/campaigns/${id}/schedule`, { at: '2099-01-01T09:00' })).status).to.equal(200);
    });

    it('show the status of the sending domain and the daily limit of mails', async () => {
      await setSender();
      await buildPlan(club.id, 'trial');
      await send('PUT', '/mail/domain', { domain: 'knots.example' });
      const { id } = await create();
      const unproven = await checks(id);
      expect(codes(unproven)).to.deep.equal(['$ domain_unproven']);
      expect(unproven.mails_of_day).to.equal(25);
      await (
        await testDatabase()
      ).query(`UPDATE mail_domains SET status = 'proven', first_proven_at = now() WHERE club_id = $1`, [club.id]);
      const proven = await checks(id);
      expect(codes(proven)).to.deep.equal([]);
      expect(proven.from).to.deep.equal({
        address: 'news@knots.example',
        aligned: true,
        domain: 'knots.example',
        domain_status: 'proven',
      });
    });

    it('warn of bounces above 2 % and complaints above 0.1 %, but only if at least 200 mails were sent', async () => {
      await setSender();
      const { id } = await create();
      await buildSent({ mails: 199, bounced: 100, complained: 9 });
      expect(codes(await checks(id))).to.deep.equal(['$ domain_none']);
      await buildSent({ mails: 801, bounced: 0, complained: 0 });
      const found = await checks(id);
      expect(found.recent).to.deep.equal({ mails: 1_000, bounce_rate: 0.1, complaint_rate: 0.009 });
      expect(codes(found)).to.deep.equal([
        '$ domain_none',
        '$.audience high_bounce_rate',
        '$.audience high_complaint_rate',
      ]);
    });
  });

  describe('test mails of a campaign (CAMP-43)', () => {
    const test = (id: Id, body?: object) => send('POST', `/campaigns/${id}/test-mails`, body);

    it('are sent to the caller or another confirmed member, and listed newest first', async () => {
      const { id } = await create();
      const editor = await buildMember(club.id, 'editor');
      const first = await test(id);
      expect(first.status).to.equal(201);
      expect(first.body.data).to.deep.include({ administrator_id: club.owner.id, status: 'pending' });
      const second = await test(id, { administrator_id: editor.id });
      expect(second.body.data).to.deep.include({ administrator_id: editor.id, status: 'pending' });
      const { body } = await send('GET', `/campaigns/${id}/test-mails`);
      expect(body).to.deep.equal({ data: [second.body.data, first.body.data], total: 2 });
      const other = await create();
      expect((await send('GET', `/campaigns/${other.id}/test-mails`)).body.total).to.equal(0);
    });

    it('are refused with 404 if the recipient is an outsider, an unconfirmed member or a student', async () => {
      const { id } = await create();
      const unconfirmed = await buildMember(club.id, 'editor');
      await (
        await testDatabase()
      ).query(`UPDATE administrators SET verified_at = NULL WHERE id = $1`, [unconfirmed.id]);
      const others = [(await buildClub()).owner, unconfirmed, await buildStudent(club.id), { id: newId() }];
      const before = await rowCounts();
      for (const other of others) expectError(await test(id, { administrator_id: other.id }), 'not_found');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('are refused with 409 campaign_has_problems, or with 402 if the plan has no campaigns', async () => {
      const unfinished = await create({ content: { blocks: [] } });
      const { id } = await create();
      const before = await rowCounts();
      expectError(await test(unfinished.id), 'campaign_has_problems');
      await buildPlan(club.id, 'starter');
      expectError(await test(id), 'feature_not_in_plan');
      expect({ ...(await rowCounts()), club_plans: 0 }).to.deep.equal({ ...before, club_plans: 0 });
    });
  });

  describe('recipients of a campaign (CAMP-1, CAMP-2)', () => {
    const refusedFor = (place: number): HandOver =>
      place === 2
        ? { kind: 'refused', permanent: true, reply: '550 no such mailbox' }
        : { kind: 'accepted', reply: '250 ok' };

    it('are listed with a total only after the campaign has fixed its recipients', async () => {
      const draft = await create();
      const none = { data: [], total: 0 };
      expect((await send('GET', `/campaigns/${draft.id}/deliveries`)).body).to.deep.equal(none);
      const campaign = await sendCampaign({ count: 5, now: new Date() }, refusedFor);
      const list = async (query: string) =>
        (await callsOf(campaign.club)('GET', `/campaigns/${campaign.campaignId}/deliveries${query}`)).body;
      const emailsOf = ({ data }: { data: { student_email: string }[] }) => data.map((row) => row.student_email);
      const pages = [];
      for (const page of [1, 2, 3]) pages.push(await list(`?page=${page}&page_size=2`));
      expect(pages.map(({ total }) => total)).to.deep.equal([5, 5, 5]);
      expect(pages.flatMap(emailsOf)).to.deep.equal(campaign.mails.map(({ email }) => email));
      expect(await list('?page=4&page_size=2')).to.deep.equal({ data: [], total: 5 });
      const failed = await list('?status=failed');
      expect([failed.total, emailsOf(failed), failed.data[0].last_error]).to.deep.equal([
        1,
        [campaign.mails[2]?.email],
        '550 no such mailbox',
      ]);
      expect((await list('?status=sent&page_size=1')).total).to.equal(4);
      expect(await list('?status=skipped')).to.deep.equal(none);
    });

    it('cannot be listed by another club (404), or by an unknown status (422)', async () => {
      const { campaignId } = await sendCampaign({ count: 1, now: new Date() });
      expectError(await send('GET', `/campaigns/${campaignId}/deliveries`), 'not_found');
      expectError(await send('GET', `/campaigns/${campaignId}/statistics`), 'not_found');
      const { id } = await create();
      expectError(await send('GET', `/campaigns/${id}/deliveries?status=lost`), 'invalid_request');
    });
  });

  describe('states of a campaign', () => {
    const to = async (id: Id, act: string, body?: object) => send('POST', `/campaigns/${id}/${act}`, body);
    beforeEach(setSender);
    beforeEach(() => buildStudent(club.id));

    it('let administrators schedule a campaign at the club’s local time, and unschedule the campaign', async () => {
      await send('PATCH', '', { time_zone: 'America/New_York' });
      const { id } = await create();
      const { status, body } = await to(id, 'schedule', { at: '2099-07-01T09:00' });
      expect(status).to.equal(200);
      expect(body.data).to.include({ status: 'scheduled', scheduled_at: '2099-07-01T13:00:00.000Z' });
      const back = (await to(id, 'unschedule')).body.data;
      expect(back).to.include({ status: 'draft' }).and.not.to.have.property('scheduled_at');
    });

    for (const [at, why] of [
      ['2020-01-01T09:00', 'is past'],
      ['2099-03-08T02:30', 'does not exist'],
      ['2099-02-30T09:00', 'is not a valid time'],
    ] as const) {
      it(`remain draft after 422 if the start time ${at} ${why}`, async () => {
        await send('PATCH', '', { time_zone: 'America/New_York' });
        const { id } = await create();
        const refused = await to(id, 'schedule', { at });
        expectError(refused, 'invalid_request');
        expect(refused.body.error.message).to.contain(why);
        expect((await send('GET', `/campaigns/${id}`)).body.data.status).to.equal('draft');
      });
    }

    it('cause 409 for each action that the state does not allow', async () => {
      const acts: Record<string, readonly string[]> = {
        draft: ['unschedule', 'pause', 'resume', 'cancel', 'retry'],
        scheduled: ['resume', 'retry'],
        sending: ['unschedule', 'resume'],
        paused: ['pause', 'retry'],
        sent: ['unschedule', 'pause', 'resume', 'cancel'],
        canceled: ['unschedule', 'pause', 'resume', 'cancel', 'retry'],
      };
      const source = await testDatabase();
      await eachCase(Object.entries(acts), async ([status, refused]) => {
        const { id } = await create();
        await source.query(`UPDATE campaigns SET status = $2, pause_reason = $3 WHERE id = $1`, [
          id,
          status,
          status === 'paused' ? 'by_hand' : null,
        ]);
        for (const act of refused) expectError(await to(id, act), 'campaign_state');
        if (status !== 'draft') expectError(await to(id, 'schedule', {}), 'campaign_not_draft');
      });
    });

    it('let administrators unschedule a paused campaign only before its recipients are fixed (409)', async () => {
      const { id } = await create();
      await to(id, 'schedule', { at: '2099-07-01T09:00' });
      await to(id, 'pause');
      const back = (await to(id, 'unschedule')).body.data;
      expect(back).to.include({ status: 'draft' }).and.not.have.any.keys('scheduled_at', 'pause_reason');
      expect((await send('PATCH', `/campaigns/${id}`, { name: 'Later' })).status).to.equal(200);
      await to(id, 'schedule', { at: '2099-07-01T09:00' });
      await to(id, 'pause');
      await (await testDatabase()).query(`UPDATE campaigns SET frozen_at = now() WHERE id = $1`, [id]);
      expectError(await to(id, 'unschedule'), 'campaign_state');
    });

    it('let administrators pause, resume and cancel a campaign before it begins', async () => {
      const { id } = await create();
      await to(id, 'schedule', { at: '2099-07-01T09:00' });
      expect((await to(id, 'pause')).body.data).to.include({ status: 'paused', pause_reason: 'by_hand' });
      expect((await to(id, 'resume')).body.data).to.include({ status: 'scheduled' });
      expect((await to(id, 'cancel')).body.data).to.include({ status: 'canceled' });
    });
  });
});
