/** Tests how administrators write, publish and monitor automations (OP-9, AUTO-7 to AUTO-9, AUTO-15, AUTO-18). */
import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, expectError, type Answer } from '../toolkit/drive/api.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const points = (id: string, count = 1) => ({ id, kind: 'award_points', points: count });
const definition = (parts: object = {}) => ({
  trigger: { kind: 'manual' },
  reentry: 'once',
  exit_on_access_lost: false,
  steps: [points('first')],
  ...parts,
});

describe('automations', () => {
  let club: TestClub;
  let send: ClubCalls;
  const create = async (draft: object = definition()): Promise<Id> =>
    (await send('POST', '/workflows', { name: 'Welcome', draft })).body.data.id;
  const withMatch = (method: string, path: string, ifMatch: string, body?: unknown): Promise<Answer> =>
    call(method, `/v1/clubs/${club.id}${path}`, {
      token: club.owner.token,
      headers: { 'if-match': ifMatch },
      ...(body !== undefined && { body }),
    });
  const change = (id: Id, draft: object) => withMatch('PATCH', `/workflows/${id}`, '*', { draft });
  const publish = (id: Id, ifMatch = '*') => withMatch('POST', `/workflows/${id}/publish`, ifMatch);
  beforeEach(async () => {
    club = await buildClub();
    send = callsOf(club);
  });

  describe('drafts', () => {
    it('creates a draft, and returns its revision number as ETag', async () => {
      const created = await send('POST', '/workflows', { name: ' Welcome  aboard ', draft: definition() });
      expect(created.status).to.equal(201);
      const { id, created_at: at } = created.body.data;
      expect(created.body.data).to.deep.equal({
        id,
        name: 'Welcome aboard',
        status: 'draft',
        draft: definition(),
        active_runs: 0,
        total_runs: 0,
        created_at: at,
        updated_at: at,
      });
      const read = await send('GET', `/workflows/${id}`);
      expect(read.body).to.deep.equal(created.body);
      expect([created.headers.get('etag'), read.headers.get('etag')]).to.deep.equal(['"1"', '"1"']);
    });

    it('lists automations newest first, in pages, and can filter them by status', async () => {
      await callsOf(await buildClub())('POST', '/workflows', { name: 'Other' });
      const [first, second] = [await create(), await create()];
      await publish(first);
      const ids = async (query: string) => {
        const { body } = await send('GET', `/workflows${query}`);
        return [body.total, ...body.data.map(({ id }: { id: Id }) => id)];
      };
      expect(await ids('')).to.deep.equal([2, second, first]);
      expect(await ids('?status=active')).to.deep.equal([1, first]);
      expect(await ids('?page=2&page_size=1')).to.deep.equal([2, first]);
    });

    it('lists automations and versions without their definitions', async () => {
      const steps = Array.from({ length: 200 }, (_, index) => ({ ...points(`s${index}`), note: 'x'.repeat(1_000) }));
      const [id] = [await create(definition({ steps })), await create(definition({ steps }))];
      const { published } = (await publish(id)).body.data;
      const { definition: of, ...version } = published;
      const { body, text } = await send('GET', '/workflows');
      expect(body.data.map((one: object) => Object.keys(one).filter((key) => key === 'draft'))).to.deep.equal([[], []]);
      expect(body.data[1].published).to.deep.equal(version);
      expect(text.length).to.be.below(2_000);
      expect((await send('GET', `/workflows/${id}/versions`)).body.data).to.deep.equal([version]);
      const read = await send('GET', `/workflows/${id}/versions/${version.id}`);
      expect(read.body.data).to.deep.equal({ ...version, definition: definition({ steps }) });
      expect(of).to.deep.equal(definition({ steps }));
      expectError(await send('GET', `/workflows/${id}/versions/${newId()}`), 'not_found');
    });

    it('returns 400 to a change without If-Match, and 409 to the second of two simultaneous changes', async () => {
      const id = await create();
      const draft = definition({ steps: [points('mine', 2)] });
      expectError(await send('PATCH', `/workflows/${id}`, { draft }), 'malformed_request');
      expectError(await send('POST', `/workflows/${id}/publish`), 'malformed_request');
      const changed = await withMatch('PATCH', `/workflows/${id}`, '"1"', { draft });
      expect([changed.status, changed.headers.get('etag')]).to.deep.equal([200, '"2"']);
      expectError(await withMatch('PATCH', `/workflows/${id}`, '"1"', { name: 'Theirs' }), 'draft_changed');
      expectError(await publish(id, '"1"'), 'draft_changed');
      expect((await send('GET', `/workflows/${id}`)).body).to.deep.equal(changed.body);
    });

    it('duplicates an automation as a new draft with the same definition', async () => {
      const id = await create(definition({ steps: [points('a'), points('b')] }));
      await publish(id);
      const { status, body } = await send('POST', `/workflows/${id}/duplicate`);
      expect(status).to.equal(200);
      expect(body.data).to.deep.include({ status: 'draft', draft: definition({ steps: [points('a'), points('b')] }) });
      expect(body.data).not.to.have.property('published');
    });

    it('returns 402 for each creation, change, duplication and publication if the plan has no automations', async () => {
      const id = await create();
      await buildPlan(club.id, 'starter');
      const before = await rowCounts();
      for (const refused of [
        await send('POST', '/workflows', { name: 'x' }),
        await change(id, definition({ steps: [] })),
        await send('POST', `/workflows/${id}/duplicate`),
        await publish(id),
      ])
        expectError(refused, 'feature_not_in_plan');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 409 for the 201st automation of a club', async () => {
      const source = await testDatabase();
      await source.query(
        `INSERT INTO automations (id, club_id, name, draft, created_at, updated_at)
         SELECT gen_random_uuid(), $1, 'x', '{}', now(), now() FROM generate_series(1, 200)`,
        [club.id],
      );
      expectError(await send('POST', '/workflows', { name: 'x' }), 'automation_limit_reached');
    });

    it('returns 422 for a draft that exceeds a limit, and keeps the stored draft', async () => {
      const id = await create();
      const nested = (depth: number): object[] => [
        depth === 1
          ? points('inner')
          : { id: `c${depth}`, kind: 'condition', condition: { match: 'all', rules: [] }, then: nested(depth - 1) },
      ];
      const rule = { kind: 'has_purchased', negate: false };
      const until = (wait: object) => [{ id: 'w', kind: 'wait', wait }];
      const tooMuch = [
        definition({ steps: nested(11) }),
        definition({ steps: Array.from({ length: 201 }, (_, index) => points(`s${index}`)) }),
        definition({ steps: until({ kind: 'delay', amount: 53, unit: 'weeks' }) }),
        definition({ steps: until({ kind: 'until_condition', days: 367 }) }),
        definition({ steps: until({ kind: 'until_time', amount: 1_440, unit: 'minutes' }) }),
        definition({ exit_when: { match: 'all', rules: Array.from({ length: 21 }, () => rule) } }),
        definition({
          exit_when: { match: 'all', rules: [{ ...rule, product_ids: Array.from({ length: 101 }, newId) }] },
        }),
        definition({ trigger: { kind: 'student_tagged', tag_ids: Array.from({ length: 101 }, newId) } }),
        definition({
          steps: Array.from({ length: 200 }, (_, index) => ({ ...points(`s${index}`), note: 'é'.repeat(700) })),
        }),
      ];
      await eachCase(tooMuch, async (draft) => expectError(await change(id, draft), 'invalid_request'));
      expect((await change(id, definition({ steps: nested(10) }))).status).to.equal(200);
      const bomb = `{"draft":${JSON.stringify(definition()).slice(0, -1)},"exit_when":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`;
      const deep = await call('PATCH', `/v1/clubs/${club.id}/workflows/${id}`, {
        token: club.owner.token,
        headers: { 'if-match': '*' },
        raw: bomb,
      });
      expectError(deep, 'malformed_request');
    });

    it('accepts step ids in every script, and refuses a NUL character', async () => {
      const id = await create(definition({ steps: [points('école 🚀'), points('第二步')] }));
      expect((await publish(id)).status).to.equal(200);
      expectError(await change(id, definition({ steps: [points('a\0')] })), 'invalid_request');
    });
  });

  describe('problems', () => {
    it('describes the first 100 problems and counts all, even if one text has 120,000 problems', async () => {
      const email = { subject: 'x', blocks: [{ kind: 'text', text: '{{'.repeat(120_000) }] };
      const id = await create(definition({ steps: [{ id: 'a', kind: 'send_email', email }] }));
      const { status, body } = await send('GET', `/workflows/${id}/problems`);
      expect([status, body.data.problems.length, body.data.count]).to.deep.equal([200, 100, 120_002]); // plus text too long, sender missing
    });

    const problemsOf = async (draft: object) => {
      const { body } = await send('GET', `/workflows/${await create(draft)}/problems`);
      return body.data.problems.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`);
    };

    it('lists every problem of a draft with its location, and lists none for a complete draft', async () => {
      const other = await buildClub();
      const foreign = (await callsOf(other)('POST', '/tags', { name: 'Crew' })).body.data.id;
      expect(
        await problemsOf(
          definition({
            trigger: { kind: 'access_revoked', tag_ids: [], delivery_ids: [newId()] },
            exit_on_access_lost: true,
            exit_when: { match: 'all', rules: [] },
            steps: [
              { id: 'a', kind: 'add_tag', tag_id: foreign },
              { id: 'a', kind: 'award_points', points: 0, tag_id: foreign },
              {
                id: 'b',
                kind: 'send_email',
                email: { subject: '', blocks: [{ kind: 'button', text: 'Go', url: 'javascript:1' }] },
              },
              {
                id: 'c',
                kind: 'condition',
                condition: { match: 'any', rules: [{ kind: 'email_opened', negate: false, step_id: 'e' }] },
              },
              {
                id: 'd',
                kind: 'condition',
                condition: { match: 'any', rules: [{ kind: 'email_opened', negate: false, step_id: 'b' }] },
                then: [{ id: 'e', kind: 'send_email', email: { subject: 'x', blocks: [{ kind: 'divider' }] } }],
                else: [
                  {
                    id: 'f',
                    kind: 'wait',
                    wait: { kind: 'until_condition', days: 1 },
                    condition: { match: 'any', rules: [{ kind: 'email_clicked', negate: false, step_id: 'e' }] },
                  },
                ],
              },
              { id: 'g', kind: 'wait', wait: { kind: 'delay', amount: 0, unit: 'days', days: 1 } },
              { id: 'h', kind: 'exit' },
              { id: 'i', kind: 'remove_tag' },
            ],
          }),
        ),
      ).to.deep.equal([
        '$.trigger.delivery_ids[0] unknown_id',
        '$.trigger.tag_ids field_of_another_kind',
        '$.exit_on_access_lost exits_at_once',
        '$.exit_when.rules no_rules',
        '$.steps[1].id duplicate_id',
        '$.steps[7] unreachable_step',
        '$.steps[0].tag_id unknown_id',
        '$.steps[1].tag_id field_of_another_kind',
        '$.steps[1].points no_points',
        '$.steps[2].email.subject missing_field',
        '$.steps[2].email.blocks[0].url invalid_url',
        '$.steps[3].condition.rules[0].step_id unknown_id',
        '$.steps[3] empty_branches',
        '$.steps[4].else[0].condition.rules[0].step_id unknown_id',
        '$.steps[5].wait.days field_of_another_kind',
        '$.steps[5].wait.amount invalid_wait',
        '$.steps[7].tag_id missing_field',
        '$ missing_sender',
      ]);
      expect(await problemsOf(definition({ steps: [] }))).to.deep.equal(['$.steps missing_field']);
      expect(await problemsOf(definition())).to.deep.equal([]);
    });

    it('returns 422 for publishing a draft with problems, and names the first problem', async () => {
      const id = await create(definition({ steps: [{ id: 'x', kind: 'add_tag' }] }));
      const refused = await publish(id);
      expectError(refused, 'invalid_definition');
      expect(refused.body.error.message).to.contain('$.steps[0].tag_id');
      expect((await send('GET', `/workflows/${id}`)).body.data).to.include({ status: 'draft' });
    });
  });

  describe('dry run', () => {
    const tryOut = (id: Id, body: object) => send('POST', `/workflows/${id}/dry-run`, body);
    const student = async () => (await buildStudent(club.id)).id;

    it('runs the draft or a version without changing any table', async () => {
      const id = await create(definition({ steps: [points('published')] }));
      await publish(id);
      await change(id, definition({ steps: [points('drafted')] }));
      const student_id = await student();
      const before = await rowCounts();
      const [draft, version] = [await tryOut(id, { student_id }), await tryOut(id, { student_id, version: 1 })];
      for (const [{ status, body }, step] of [
        [draft, 'drafted'],
        [version, 'published'],
      ] as const) {
        expect(status).to.equal(200);
        expect(body.data).to.include({ entry: 'entered', status: 'completed' });
        expect(body.data.path.map(({ step_id: passed }: { step_id: string }) => passed)).to.deep.equal([step]);
      }
      expect([draft.body.data.version, version.body.data.version]).to.deep.equal([undefined, 1]);
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 404 if the club has no such student, version or record that a fact names', async () => {
      const id = await create();
      const other = await buildClub();
      const tag = (await callsOf(other)('POST', '/tags', { name: 'Crew' })).body.data.id;
      const student_id = await student();
      const at = '2026-03-02T12:00:00Z';
      await eachCase(
        [
          { student_id: (await buildStudent(other.id)).id },
          { student_id: newId() },
          { student_id, version: 7 },
          { student_id, facts: [{ kind: 'student_tagged', at, tag_id: tag }] },
          { student_id, facts: [{ kind: 'access_granted', at, delivery_id: newId() }] },
          { student_id, about: { kind: 'product', id: newId() } },
        ],
        async (body) => expectError(await tryOut(id, body), 'not_found'),
      );
    });

    it('returns 422 for a draft with problems, and for facts with missing or unknown fields', async () => {
      const student_id = await student();
      const broken = await create(definition({ steps: [{ id: 'x', kind: 'add_tag' }] }));
      expectError(await tryOut(broken, { student_id }), 'invalid_definition');
      const id = await create();
      const at = '2026-03-02T12:00:00Z';
      await eachCase(
        [
          { facts: [{ kind: 'student_tagged', at }] },
          { facts: [{ kind: 'course_completed', at, course_id: newId(), tag_id: newId() }] },
          { facts: [{ kind: 'email_opened', at, step_id: 'first' }] },
          { facts: [{ kind: 'student_tagged', at: 'soon', tag_id: newId() }] },
          { facts: Array.from({ length: 101 }, () => ({ kind: 'student_tagged', at, tag_id: newId() })) },
          { starts_at: '2126-03-02T12:00:00Z' },
          { starts_at: '0001-01-01T00:00:00Z' },
        ],
        async (body) => expectError(await tryOut(id, { student_id, ...body }), 'invalid_request'),
      );
    });
  });

  describe('versions', () => {
    it('numbers published versions without gaps, and shows both the draft and the published version', async () => {
      const id = await create();
      const first = (await publish(id)).body.data;
      expect(first).to.deep.include({ status: 'active' });
      expect(first.published).to.deep.include({ number: 1, trigger_kind: 'manual', definition: definition() });
      expectError(await publish(id), 'nothing_to_publish');
      const next = definition({ steps: [points('first'), points('second')] });
      await change(id, next);
      const waiting = (await send('GET', `/workflows/${id}`)).body.data;
      expect([waiting.draft, waiting.published.definition]).to.deep.equal([next, definition()]);
      expect((await publish(id)).body.data.published).to.deep.include({ number: 2, definition: next });
      const { body } = await send('GET', `/workflows/${id}/versions`);
      expect([body.total, ...body.data.map(({ number }: { number: number }) => number)]).to.deep.equal([2, 2, 1]);
    });

    it('publishes once if three requests arrive simultaneously, and answers the others with 409', async () => {
      const id = await create();
      const answers = await Promise.all([publish(id), publish(id), publish(id)]);
      expect(answers.map(({ status }) => String(status)).toSorted()).to.deep.equal(['200', '409', '409']);
      expect((await send('GET', `/workflows/${id}/versions`)).body.total).to.equal(1);
    });

    it('lists the differences between two versions, step id by step id', async () => {
      const branch = (then: object[]) => ({
        id: 'if',
        kind: 'condition',
        condition: { match: 'all', rules: [{ kind: 'has_purchased', negate: false }] },
        then,
      });
      const id = await create(
        definition({ steps: [points('a'), points('b'), branch([points('c'), points('d')]), points('e')] }),
      );
      await publish(id);
      await change(
        id,
        definition({
          reentry: 'always',
          steps: [points('b'), points('a', 2), branch([points('d'), points('e')]), points('f')],
        }),
      );
      const named = (kind: string, ...ids: string[]) => ids.map((step) => ({ id: step, kind }));
      const { status, body } = await send('GET', `/workflows/${id}/difference`);
      expect(status).to.equal(200);
      expect(body.data).to.deep.equal({
        changed_fields: ['reentry'],
        added: named('award_points', 'f'),
        removed: named('award_points', 'c'),
        moved: named('award_points', 'a', 'e'),
        changed: [{ id: 'a', kind: 'award_points', fields: ['points'] }],
      });
      expectError(await send('GET', `/workflows/${id}/difference?from=7`), 'not_found');
    });

    it('pauses, resumes and archives an automation, and returns 409 if its state forbids the action', async () => {
      const id = await create();
      const act = (what: string) => send('POST', `/workflows/${id}/${what}`);
      expectError(await act('pause'), 'automation_state');
      await publish(id);
      for (const [what, status] of [
        ['pause', 'paused'],
        ['resume', 'active'],
        ['pause', 'paused'],
      ] as const)
        expect((await act(what)).body.data).to.include({ status });
      await change(id, definition({ reentry: 'always' }));
      expect((await publish(id)).body.data).to.include({ status: 'paused' });
      expect((await act('archive')).body.data).to.include({ status: 'archived' });
      for (const refused of [
        await act('resume'),
        await act('archive'),
        await publish(id),
        await change(id, definition()),
      ])
        expectError(refused, 'automation_state');
    });

    it('returns 409 for deleting a tag that a published automation uses, until the automation is archived', async () => {
      const tag = (await send('POST', '/tags', { name: 'Crew' })).body.data.id;
      const id = await create(definition({ steps: [{ id: 'tag', kind: 'add_tag', tag_id: tag }] }));
      await publish(id);
      expectError(await send('DELETE', `/tags/${tag}`), 'in_use');
      await send('POST', `/workflows/${id}/archive`);
      expect((await send('DELETE', `/tags/${tag}`)).status).to.equal(204);
    });
  });

  describe('runs', () => {
    it('starts one manual run for each student and request id, and returns a result for each student', async () => {
      const id = await create(
        definition({
          reentry: 'after_exit',
          steps: [{ id: 'w', kind: 'wait', wait: { kind: 'delay', amount: 1, unit: 'days' } }],
        }),
      );
      await publish(id);
      const [ada, bob] = [await buildStudent(club.id), await buildStudent(club.id)];
      const foreign = await buildStudent((await buildClub()).id);
      const enroll = async (request: Id, ...students: Id[]) => {
        const { status, body } = await send('POST', `/workflows/${id}/runs`, { id: request, student_ids: students });
        expect(status).to.equal(202);
        return body.data.results.map(({ result }: { result: string }) => result);
      };
      const request = newId();
      expect(await enroll(request, ada.id, foreign.id)).to.deep.equal(['entered', 'not_found']);
      expect(await enroll(request, bob.id, ada.id)).to.deep.equal(['entered', 'entered_before']);
      expect(await enroll(newId(), ada.id)).to.deep.equal(['not_again']);
      const { body } = await send('GET', `/workflows/${id}/runs?status=active`);
      expect([body.total, ...body.data.map((run: { student_id: Id }) => run.student_id)]).to.deep.equal([
        2,
        bob.id,
        ada.id,
      ]);
      expect((await send('GET', `/workflows/${id}`)).body.data).to.include({ active_runs: 2, total_runs: 2 });
      const [run] = body.data;
      expect((await send('POST', `/workflows/${id}/runs/${run.id}/exit`)).body.data).to.include({
        status: 'exited',
        exit_reason: 'by_hand',
        step_id: 'w',
      });
      expectError(await send('POST', `/workflows/${id}/runs/${run.id}/exit`), 'run_state');
      expectError(await send('POST', `/workflows/${id}/runs/${run.id}/resume`), 'run_state');
      const totals = await Promise.all(
        ['status=exited', `student_id=${ada.id}`, 'step_id=w', 'version=1'].map(
          async (query) => (await send('GET', `/workflows/${id}/runs?${query}`)).body.total,
        ),
      );
      expect(totals).to.deep.equal([1, 1, 1, 2]);
    });

    it('returns 409 for a manual start if the trigger is a fact, or while the automation is paused', async () => {
      const tag = (await send('POST', '/tags', { name: 'Crew' })).body.data.id;
      const request = { id: newId(), student_ids: [(await buildStudent(club.id)).id] };
      const onTag = await create(definition({ trigger: { kind: 'student_tagged', tag_ids: [tag] } }));
      await publish(onTag);
      expectError(await send('POST', `/workflows/${onTag}/runs`, request), 'automation_not_manual');
      const manual = await create();
      await publish(manual);
      await send('POST', `/workflows/${manual}/pause`);
      expectError(await send('POST', `/workflows/${manual}/runs`, request), 'automation_state');
    });
  });
});
