/** The log of a club's events: what is in it, and how it is read (EVT-23 to EVT-26). */
import { expect } from 'chai';
import { bulk, type Priority } from '../../../../entities/facts/values.ts';
import { claimAttempt } from '../../../../domain/webhooks/attempts/claims.ts';
import { fanOut, fanOutFacts } from '../../../../domain/webhooks/events/fan-out.ts';
import { startMissingLogs } from '../../../../domain/webhooks/endpoints/event-log.ts';
import { listEvents, type EventFilter } from '../../../../domain/webhooks/log/events.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { createTag } from '../../../../domain/learning/engagement/tags.ts';
import { eventTypes, type EventType } from '../../../../platform/core/event-types.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { factsOfEachType } from '../../../toolkit/builders/facts-of-each-type.ts';
import { buildEndpoint, factAbout } from '../../../toolkit/builders/webhooks.ts';
import { eventFaults } from '../../../toolkit/assert/contract-schemas.ts';
import { columnsHolding, testDeps } from '../../../toolkit/stack/database.ts';

const minute = 60_000;
const day = 1_440 * minute;
const now = new Date();
const after = (ms: number) => new Date(now.getTime() + ms);

describe('the log of a club', function () {
  this.timeout(60_000);
  let clubId: Id;
  let studentId: Id;
  beforeEach(async () => {
    ({ id: clubId } = await buildClub());
    ({ id: studentId } = await buildStudent(clubId));
  });

  const read = async (filter: Partial<EventFilter> = {}, at = now) =>
    listEvents(await testDeps(), clubId, { page_size: 100, ...filter }, at);
  const idsOf = async (filter: Partial<EventFilter> = {}, at = now) =>
    (await read(filter, at)).data.map(({ id }) => id);
  const refusalOf = (filter: Partial<EventFilter>, at = now): Promise<unknown> =>
    read(filter, at).then(
      () => 'none',
      (error: unknown) => (error as { code?: unknown }).code,
    );
  const factAt = (at: Date, type: EventType = 'student.updated', student = studentId) => ({
    ...factAbout({ clubId, studentId: student }, type, at),
    id: newId(),
  });
  /** Fans out one fact. @returns its id */
  const record = async (at = now, type?: EventType, student?: Id) => {
    const { db } = await testDeps();
    const fact = factAt(at, type, student);
    await fanOut(db, fact, at);
    return fact.id;
  };

  describe('the start of the log', () => {
    it('is the first read: an earlier event without an endpoint is not stored', async () => {
      const { db } = await testDeps();
      const early = factAt(now);
      await fanOut(db, early, now);
      const bulkFact = () => ({ ...factAt(now), priority: bulk as Priority });
      await fanOutFacts(db, [bulkFact()], now);
      expect(await read()).to.deep.include({ data: [], has_more: false, logged_since: now.toISOString() });
      const late = await record();
      const lateBulk = [bulkFact(), bulkFact()];
      await fanOutFacts(db, lateBulk, now);
      expect(await idsOf()).to.deep.equal([late, ...lateBulk.map(({ id }) => id)]);
      expect(await db.one(sql`SELECT 1 FROM webhook_events WHERE id = ${early.id}`)).to.equal(undefined);
    });

    it('is the same in every later read', async () => {
      await read();
      expect((await read({}, after(day))).logged_since).to.equal(now.toISOString());
    });

    it('is the next round of retention if the club had an endpoint before logs existed', async () => {
      const { db } = await testDeps();
      await buildEndpoint(clubId, 'https://hooks.example.com/club', ['student.created']);
      expect((await startMissingLogs(db, after(minute))).started).to.be.at.least(1);
      const id = await record();
      expect(await startMissingLogs(db, after(2 * minute))).to.deep.equal({ started: 0, more: false });
      expect(await idsOf()).to.deep.equal([id]);
      expect((await read()).logged_since).to.equal(after(minute).toISOString());
    });

    it('excludes later events about a removed student, except student.removed', async () => {
      await read();
      await removeStudent(await testDeps(), clubId, studentId, now);
      await record();
      const removal = await record(now, 'student.removed');
      expect(await idsOf()).to.deep.equal([removal]);
    });

    it('does not exclude an earlier event that an endpoint received, even a deleted endpoint', async () => {
      const { db } = await testDeps();
      const { id } = await buildEndpoint(clubId, 'https://hooks.example.com/club');
      const received = await record();
      await db.run(sql`UPDATE webhook_endpoints SET deleted_at = ${now}, status = 'disabled' WHERE id = ${id}`);
      const unheard = await record();
      expect(await idsOf()).to.deep.equal([received]);
      expect(await idsOf()).to.not.include(unheard);
    });
  });

  it('shows for each type the body that a webhook carries, byte for byte', async () => {
    const { db } = await testDeps();
    const facts = await factsOfEachType('Ada', now);
    clubId = facts[0]?.fact.clubId ?? '';
    const before = new Set(await idsOf());
    await buildEndpoint(clubId, 'https://hooks.example.com/club', eventTypes);
    const bodies: string[] = [];
    for (const { fact } of facts) {
      const [delivery] = await fanOut(db, fact, now);
      const claim = await claimAttempt(db.source, delivery?.id ?? '', now.getTime());
      bodies.push(claim?.body ?? '');
    }
    const { data } = await read();
    const listed = data.filter(({ id }) => !before.has(id));
    expect(listed.map((event) => JSON.stringify(event))).to.deep.equal(bodies);
    for (const event of listed) expect(eventFaults(event.type, event), event.type).to.deep.equal([]);
    expect(listed.map(({ type }) => type)).to.deep.equal([...eventTypes]);
  });

  it('contains no test message, and an event that is fanned out twice only once', async () => {
    const { db } = await testDeps();
    await read();
    const fact = factAt(now);
    await fanOut(db, fact, now);
    await fanOut(db, fact, after(minute));
    expect(await idsOf()).to.deep.equal([fact.id]);
  });

  it('has no body and no name of a student after the removal', async () => {
    const { db } = await testDeps();
    const name = `Removable ${newId()}`;
    const student = await buildStudent(clubId, { name });
    await read();
    const about = await record(now, 'student.updated', student.id);
    const other = await record();
    expect(await columnsHolding(name)).to.include('webhook_bodies.body');
    await removeStudent({ ...(await testDeps()), db }, clubId, student.id, now);
    expect(await idsOf()).to.deep.equal([other]);
    expect(await idsOf({ student_id: student.id })).to.deep.equal([]);
    expect(await columnsHolding(name)).to.deep.equal([]);
    expect(about).to.not.equal(other);
  });

  it('has an index that is valid, because each partition has its part', async () => {
    const { db } = await testDeps();
    const index = await db.one<{ valid: boolean; parts: number; partitions: number }>(
      sql`SELECT indisvalid AS valid, (SELECT count(*)::int FROM pg_inherits WHERE inhparent = indexrelid) AS parts,
                 (SELECT count(*)::int FROM pg_inherits WHERE inhparent = indrelid) AS partitions
            FROM pg_index WHERE indexrelid = 'webhook_bodies_log'::regclass`,
    );
    expect(index).to.deep.equal({ valid: true, parts: index?.partitions, partitions: index?.partitions });
    expect(index?.partitions).to.be.above(28);
  });

  describe('a reader who follows the cursor', () => {
    it('gets every page from the oldest event, and later the events that came meanwhile', async () => {
      await read();
      const ids = [await record(), await record(), await record()];
      const first = await read({ page_size: 2 });
      expect(first).to.include({ has_more: true });
      const second = await read({ page_size: 2, cursor: first.next_cursor });
      expect(second).to.include({ has_more: false });
      expect([...first.data, ...second.data].map(({ id }) => id)).to.deep.equal(ids);
      const third = await read({ cursor: second.next_cursor });
      expect(third).to.deep.include({ data: [], has_more: false });
      const late = await record();
      expect(await idsOf({ cursor: third.next_cursor })).to.deep.equal([late]);
      expect(await idsOf({ cursor: first.next_cursor })).to.deep.equal([ids[2], late]);
    });

    it('can continue after months without events, if the reader reads at least every 30 days', async () => {
      let { next_cursor: cursor } = await read();
      for (let days = 20; days <= 100; days += 20)
        ({ next_cursor: cursor } = await read({ cursor }, after(days * day)));
      const late = await record(after(101 * day));
      expect(await idsOf({ cursor }, after(101 * day))).to.deep.equal([late]);
    });

    it('gets cursor_expired after 30 days and an hour, because events may have been removed', async () => {
      const { next_cursor: cursor } = await read();
      expect(await refusalOf({ cursor }, after(30 * day + 60 * minute))).to.equal('none');
      expect(await refusalOf({ cursor }, after(30 * day + 60 * minute + 1))).to.equal('cursor_expired');
    });

    it('gets invalid_cursor for a cursor that is forged, or belongs to another club or to other filters', async () => {
      await record();
      const { next_cursor: cursor } = await read({ type: ['student.updated', 'student.created'] });
      const type = ['student.created', 'student.updated'] as const;
      expect(await refusalOf({ cursor, type })).to.equal('none');
      const forged = `${cursor.slice(0, 8)}${cursor[8] === 'A' ? 'B' : 'A'}${cursor.slice(9)}`;
      for (const wrong of ['', 'x', '0', `${cursor}=`, `${cursor} `, cursor.slice(0, -1), forged, 'é'.repeat(40)])
        expect(await refusalOf({ cursor: wrong, type }), wrong).to.equal('invalid_cursor');
      for (const filter of [
        {},
        { type: type.slice(1) },
        { type, student_id: studentId },
        { type, since: '2026-01-01T00:00:00Z' },
      ])
        expect(await refusalOf({ cursor, ...filter }), JSON.stringify(filter)).to.equal('invalid_cursor');
      ({ id: clubId } = await buildClub());
      expect(await refusalOf({ cursor, type })).to.equal('invalid_cursor');
    });
  });

  describe('the filters', () => {
    it('choose by types, by student and by the time of the assembly, also together', async () => {
      const { db } = await testDeps();
      const other = await buildStudent(clubId);
      const { id: tag } = await createTag({ db }, clubId, { name: 'Tag' }, now);
      await read();
      const updated = await record(after(-3 * day));
      const created = await record(after(-2 * day), 'student.created');
      const others = await record(after(-day), 'student.updated', other.id);
      const tagged = { ...factAt(now, 'student.tagged'), subjectId: tag };
      await fanOut(db, tagged, now);
      expect(await idsOf()).to.deep.equal([updated, created, others, tagged.id]);
      expect(await idsOf({ type: ['student.updated'] })).to.deep.equal([updated, others]);
      expect(await idsOf({ type: ['student.tagged', 'student.created'] })).to.deep.equal([created, tagged.id]);
      expect(await idsOf({ student_id: other.id })).to.deep.equal([others]);
      expect(await idsOf({ student_id: studentId, type: ['student.updated'] })).to.deep.equal([updated]);
      expect(await idsOf({ student_id: newId() })).to.deep.equal([]);
      expect(await idsOf({ since: after(-day).toISOString() })).to.deep.equal([others, tagged.id]);
      expect(await idsOf({ since: after(1 - day).toISOString(), student_id: studentId })).to.deep.equal([tagged.id]);
    });

    it('hide events after 30 days, before retention runs', async () => {
      await read();
      const id = await record();
      expect(await idsOf({}, after(30 * day - 1))).to.deep.equal([id]);
      expect(await idsOf({}, after(30 * day))).to.deep.equal([]);
      expect(await idsOf({ student_id: studentId }, after(30 * day))).to.deep.equal([]);
    });

    it('examine at most 10,000 events for a page, and the next page continues after these events', async () => {
      const { db } = await testDeps();
      await read();
      await db.run(sql`
        INSERT INTO webhook_bodies (event_id, created_at, body, club_id, student_id, type, position)
        SELECT gen_random_uuid(), ${now}, '{}', ${clubId}, ${studentId}, 'student.updated', nextval('event_positions')
          FROM generate_series(1, 20001)`);
      await db.run(sql`
        INSERT INTO webhook_events (id, club_id, student_id, type, occurred_at, created_at)
        SELECT event_id, club_id, student_id, type, created_at, created_at FROM webhook_bodies WHERE club_id = ${clubId}`);
      const rare = await record(now, 'student.created');
      for (const filter of [
        { type: ['student.created'] as const },
        { type: ['student.created'] as const, student_id: studentId },
      ]) {
        const sizes: number[] = [];
        let page = await read(filter);
        while (page.has_more) {
          sizes.push(page.data.length);
          page = await read({ ...filter, cursor: page.next_cursor });
        }
        expect(sizes).to.deep.equal([0, 0]);
        expect(page.data.map(({ id }) => id)).to.deep.equal([rare]);
      }
      const full = await read({ type: ['student.updated'] });
      expect(full).to.include({ has_more: true });
      expect(full.data).to.have.length(100);
    });
  });
});
