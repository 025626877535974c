/** The stream of a club's events, and its listeners (LSN-1 to LSN-7). */
import { expect } from 'chai';
import { startApi, type RunningApi } from '../../api/server.ts';
import { removeDeadListeners } from '../../domain/webhooks/listeners/listeners.ts';
import { fanOut } from '../../domain/webhooks/events/fan-out.ts';
import { listEvents } from '../../domain/webhooks/log/events.ts';
import { removeStudent } from '../../domain/students/students.ts';
import type { EventType } from '../../platform/core/event-types.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { eventRow } from '../toolkit/assert/webhooks.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { factAbout } from '../toolkit/builders/webhooks.ts';
import { call, clock, someAddress, testApi, testConfig } from '../toolkit/drive/api.ts';
import { listenTo, type ListeningClient } from '../toolkit/drive/listening.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDeps } from '../toolkit/stack/database.ts';

const second = 1_000;
const minute = 60 * second;
const day = 1_440 * minute;

/** @returns the data of the gap @throws Error if the stream has none */
function gapIn({ heard }: ListeningClient): { from: string; until: string; cursor: string } {
  const gap = heard.find(({ event }) => event === 'gap');
  if (!gap) throw new Error('The stream has no gap.');
  return gap.data;
}

const blocksOf = (client: ListeningClient) => client.raw().split('\n\n').length;

describe('GET /v1/clubs/{clubId}/webhook-events/stream', function () {
  this.timeout(60 * second);
  let club: TestClub;
  let studentId: Id;
  let token: string;
  const clients: ListeningClient[] = [];
  beforeEach(async () => {
    club = await buildClub();
    ({ id: studentId } = await buildStudent(club.id));
    ({ token } = await buildApiKey(club.id, ['events:read']));
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });

  const listen = async (options: Partial<Parameters<typeof listenTo>[1]> = {}) => {
    const client = await listenTo(club.id, { token, ...options });
    clients.push(client);
    return client;
  };
  /** Records an event of the club. @returns its id */
  const record = async (type: EventType = 'student.updated', at = clock.now(), about = studentId): Promise<Id> => {
    const { db } = await testDeps();
    const fact = { ...factAbout({ clubId: club.id, studentId: about }, type, at), id: newId() };
    await fanOut(db, fact, at);
    return fact.id;
  };
  const recordSome = async (count: number, type?: EventType, at?: Date) => {
    const ids: Id[] = [];
    while (ids.length < count) ids.push(await record(type, at));
    return ids;
  };
  const rows = async () =>
    (await testDeps()).db.rows<{ id: Id; keyId: Id | null; heartbeatAt: Date }>(
      sql`SELECT id, key_id AS "keyId", heartbeat_at AS "heartbeatAt" FROM webhook_listeners WHERE club_id = ${club.id}`,
    );
  const untilRows = (count: number) =>
    until(`${count} listeners`, { timeoutMs: 10 * second }, async () => (await rows()).length === count);
  const withApi = async (
    options: Parameters<typeof startApi>[1],
    work: (base: string, api: RunningApi) => Promise<void>,
  ) => {
    const api = await startApi(await testConfig(), { clock: clock.now, readinessGraceMs: 0, ...options });
    try {
      await work(`http://127.0.0.1:${api.port}`, api);
    } finally {
      await api.stop();
    }
  };

  describe('the events', () => {
    it('are the bodies of webhooks, byte for byte, in the order of the log', async () => {
      const client = await listen();
      const types = ['student.created', 'student.updated', 'student.created'] as const;
      const ids: Id[] = [];
      for (const type of types) ids.push(await record(type));
      await client.untilHeard(3);
      expect(client.ids()).to.deep.equal(ids);
      expect(client.heard.slice(1).map(({ event }) => event)).to.deep.equal(types);
      for (const id of ids) expect(client.raw()).to.contain(`\ndata: ${(await eventRow(id)).body}\n\n`);
      expect(client.raw()).to.match(/^(id: [\w.-]+\n(event: [\w.]+\ndata: \{[^\n]*\}\n)?\n|: still here\n\n)+$/);
    });

    it('reach an administrator and each of several listeners', async () => {
      const heardBy = [await listen(), await listen(), await listen({ token: club.owner.token })];
      const ids = await recordSome(2);
      for (const client of heardBy) {
        await client.untilHeard(2);
        expect(client.ids()).to.deep.equal(ids);
      }
    });

    it('begin with the next one, and are logged from then on', async () => {
      await (await listen()).close();
      await recordSome(2);
      const client = await listen();
      const id = await record();
      await client.untilHeard(1);
      expect(client.ids()).to.deep.equal([id]);
      expect(Object.keys(client.heard[0]?.data as object)).to.deep.equal(['logged_since']);
    });

    it('have the types of the filter', async () => {
      const client = await listen({ query: '?type=student.created,student.tagged' });
      await recordSome(120);
      const ofTheFilter = [await record('student.created'), await record('student.created')];
      await client.untilHeard(2);
      expect(client.ids()).to.deep.equal(ofTheFilter);
    });

    it('belong to the club of the path', async () => {
      const other = await buildClub();
      const { id: foreign } = await buildStudent(other.id);
      const client = await listen();
      const { db } = await testDeps();
      await db.run(sql`UPDATE clubs SET events_logged_since = now() WHERE id = ${other.id}`);
      await fanOut(db, factAbout({ clubId: other.id, studentId: foreign }, 'student.updated'), new Date());
      const id = await record();
      await client.untilHeard(1);
      expect(client.ids()).to.deep.equal([id]);
    });

    it('do not appear any more once their student was removed, except the removal', async () => {
      const client = await listen();
      const lastEventId = client.lastId();
      await client.close();
      await recordSome(3);
      const other = await buildStudent(club.id);
      const aboutOther = await record('student.updated', clock.now(), other.id);
      await removeStudent(await testDeps(), club.id, studentId, clock.now());
      const removal = await record('student.removed');
      const later = await listen({ lastEventId });
      await later.untilHeard(2);
      expect(later.ids()).to.deep.equal([aboutOther, removal]);
    });
  });

  describe('Last-Event-ID', () => {
    it('resumes right after the event, with other types if wanted', async () => {
      const first = await listen();
      const early = await recordSome(3);
      await first.untilHeard(3);
      await first.close();
      const missed = [...(await recordSome(150)), await record('student.created')];
      const all = await listen({ lastEventId: first.lastId() });
      await all.untilHeard(151);
      expect([...first.ids(), ...all.ids()]).to.deep.equal([...early, ...missed]);
      const some = await listen({ lastEventId: first.lastId(), query: '?type=student.created' });
      await some.untilHeard(1);
      expect(some.ids()).to.deep.equal(missed.slice(-1));
    });

    it('resumes from the beginning of a stream that was cut before its first event', async () => {
      const cut = await listen();
      await cut.close();
      const ids = await recordSome(2);
      const client = await listen({ lastEventId: cut.lastId() });
      await client.untilHeard(2);
      expect(client.ids()).to.deep.equal(ids);
    });

    it('moves during silence and past other types, so that a listener that was connected gets no gap', async () => {
      await withApi({ streamHeartbeatMs: 50 }, async (base) => {
        const expiresAt = new Date(clock.now().getTime() + 60 * day);
        const lasting = await buildApiKey(club.id, ['events:read'], { expiresAt });
        const client = await listen({ base, token: lasting.token, query: '?type=student.created' });
        const started = client.lastId();
        await recordSome(2);
        clock.advance(31 * day);
        const before = blocksOf(client);
        // Some blocks from before the advance may still be on their way.
        await until('later positions', { timeoutMs: 10 * second }, async () => blocksOf(client) >= before + 6);
        expect(client.lastId()).not.to.equal(started);
        await client.close();
        const id = await record('student.created');
        const resumed = await listen({ base, token: lasting.token, lastEventId: client.lastId() });
        await resumed.untilHeard(1);
        expect(resumed.heard.map(({ event }) => event)).to.deep.equal(['started', 'student.created']);
        expect(resumed.ids()).to.deep.equal([id]);
      });
    });

    it('older than an hour brings a gap with a cursor, and the events of the last hour', async () => {
      const client = await listen({ query: '?type=student.updated' });
      const known = await record();
      await client.untilHeard(1);
      await client.close();
      const missing = await recordSome(3);
      await record('student.created');
      clock.advance(90 * minute);
      const recent = [await record('student.updated', new Date(clock.now().getTime() - 50 * minute)), await record()];
      const resumed = await listen({ lastEventId: client.lastId(), query: '?type=student.updated' });
      await resumed.untilHeard(2);
      expect(resumed.ids()).to.deep.equal(recent);
      expect(resumed.heard.map(({ event }) => event).slice(0, 2)).to.deep.equal(['started', 'gap']);
      const { from, until: end, cursor } = gapIn(resumed);
      expect(Date.parse(end) - Date.parse(from)).to.be.within(29 * minute, 31 * minute);
      const list = await call('GET', `/v1/clubs/${club.id}/events?type=student.updated&cursor=${cursor}`, { token });
      const listed = (list.body.data as { id: Id }[]).map(({ id }) => id);
      expect(listed).to.deep.equal([...missing, ...recent]);
      expect(listed).not.to.include(known);
    });

    it('keeps the gap until the listener has received it', async () => {
      const client = await listen();
      await recordSome(2);
      await client.untilHeard(2);
      await client.close();
      const missing = await record();
      clock.advance(90 * minute);
      const cut = await listen({ lastEventId: client.lastId() });
      const startedId = /^id: (.*)$/m.exec(cut.raw())?.[1];
      await cut.close();
      const again = await listen({ lastEventId: startedId });
      await until('the gap', { timeoutMs: 10 * second }, async () => again.heard.length === 2);
      const { cursor } = gapIn(again);
      const page = await listEvents(await testDeps(), club.id, { page_size: 100, cursor }, clock.now());
      expect(page.data.map(({ id }) => id)).to.deep.equal([missing]);
    });

    it('older than an hour brings no gap if nothing happened', async () => {
      const client = await listen();
      await record();
      await client.untilHeard(1);
      await client.close();
      clock.advance(5 * day);
      const fresh = await buildApiKey(club.id, ['events:read'], { expiresAt: new Date(clock.now().getTime() + day) });
      const resumed = await listen({ token: fresh.token, lastEventId: client.lastId() });
      const id = await record();
      await resumed.untilHeard(1);
      expect(resumed.ids()).to.deep.equal([id]);
      expect(resumed.heard.map(({ event }) => event)).to.deep.equal(['started', 'student.updated']);
    });

    it('older than 30 days always brings a gap, because events may have been removed', async () => {
      const client = await listen();
      await client.close();
      clock.advance(31 * day);
      const fresh = await buildApiKey(club.id, ['events:read'], { expiresAt: new Date(clock.now().getTime() + day) });
      const resumed = await listen({ token: fresh.token, lastEventId: client.lastId() });
      await until('the gap', { timeoutMs: 10 * second }, async () => resumed.heard[1]?.event === 'gap');
      const { cursor } = gapIn(resumed);
      const list = await call('GET', `/v1/clubs/${club.id}/events?cursor=${cursor}`, { token: fresh.token });
      expect(list.body.error.code).to.equal('cursor_expired');
    });

    it('is refused if it was forged or belongs to another club', async () => {
      const client = await listen();
      const own = client.lastId() ?? '';
      await client.close();
      const other = await buildClub();
      const foreign = await listenTo(other.id, { token: other.owner.token });
      await foreign.close();
      const [listener = '', cursor = ''] = own.split('.');
      const { body } = await call('GET', `/v1/clubs/${club.id}/events`, { token });
      const forged = [
        'x',
        '1',
        `${listener}.`,
        `.${cursor}`,
        `${newId()}.${cursor}`,
        `${listener}.${cursor}x`,
        `${own}.${cursor}`,
        `${listener}.${body.next_cursor}`,
        body.next_cursor as string,
        foreign.lastId() ?? '',
      ];
      await eachCase(forged, async (lastEventId) =>
        expect((await listen({ lastEventId })).refusal, lastEventId).to.equal('invalid_cursor'),
      );
      expect(await rows()).to.deep.equal([]);
    });
  });

  describe('refusals', () => {
    it('concern other scopes, roles, clubs, types and parameters, and leave no listener behind', async () => {
      const other = await buildClub();
      const { token: student } = await buildStudent(club.id);
      const refusals = [
        [{ token: (await buildApiKey(club.id, ['webhooks:read', 'events:write'])).token }, 'scope_not_granted'],
        [{ token: (await buildApiKey(other.id, ['events:read'])).token }, 'forbidden'],
        [{ token: other.owner.token }, 'forbidden'],
        [{ token: (await buildMember(club.id, 'editor')).token }, 'role_not_permitted'],
        [{ token: student }, 'unauthenticated'],
        [{ query: '?type=webhook.test' }, 'invalid_request'],
        [{ query: '?types=student.created' }, 'malformed_request'],
      ] as const;
      await eachCase(refusals, async ([options, code]) => expect((await listen(options)).refusal).to.equal(code));
      expect(await rows()).to.deep.equal([]);
    });

    it('do not concern HEAD, which registers no listener', async () => {
      const { port } = await testApi();
      const response = await fetch(`http://127.0.0.1:${port}/v1/clubs/${club.id}/webhook-events/stream`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': someAddress() },
      });
      expect([response.status, response.headers.get('content-type')]).to.deep.equal([200, 'text/event-stream']);
      expect(await rows()).to.deep.equal([]);
    });
  });

  describe('the listeners of a club', () => {
    it('are at most five, over all processes', async () => {
      await withApi({}, async (base) => {
        for (const one of [{}, { base }, {}, { base }, {}]) expect((await listen(one)).status).to.equal(200);
        expect((await listen({ base })).refusal).to.equal('listener_limit_reached');
        await clients[0]?.close();
        await untilRows(4);
        expect((await listen()).status).to.equal(200);
      });
    });

    it('are at most five if ten begin at the same time', async () => {
      const all = await Promise.all(Array.from({ length: 10 }, () => listen()));
      expect(all.filter(({ status }) => status === 200)).to.have.length(5);
      expect(await rows()).to.have.length(5);
    });

    it('count for 45 seconds after their process died, and are removed later', async () => {
      await Promise.all(Array.from({ length: 5 }, () => listen()));
      const { db } = await testDeps();
      const beatAt = (ms: number) =>
        db.run(sql`UPDATE webhook_listeners SET heartbeat_at = ${new Date(Date.now() - ms)}, stream_id = gen_random_uuid()
          WHERE club_id = ${club.id}`);
      await beatAt(43 * second);
      expect((await listen()).refusal).to.equal('listener_limit_reached');
      await beatAt(46 * second);
      expect((await listen()).status).to.equal(200);
      expect((await rows()).length).to.equal(6);
      await beatAt(9 * minute);
      await removeDeadListeners(db, new Date());
      expect((await rows()).length).to.equal(6);
      await beatAt(11 * minute);
      await removeDeadListeners(db, new Date());
      expect(await rows()).to.deep.equal([]);
    });

    it('send heartbeats while their streams are open', async () => {
      await withApi({ listenerHeartbeatMs: 50 }, async (base) => {
        await listen({ base });
        const [before] = await rows();
        await until('a heartbeat', { timeoutMs: 10 * second }, async () => {
          const [now] = await rows();
          return now !== undefined && before !== undefined && now.heartbeatAt > before.heartbeatAt;
        });
      });
    });

    it('are taken over by a stream that resumes, and the earlier stream ends', async () => {
      await withApi({ listenerHeartbeatMs: 50 }, async (base) => {
        const [first] = await Promise.all(Array.from({ length: 5 }, () => listen({ base })));
        const resumed = await listen({ lastEventId: first?.lastId() });
        expect(resumed.status).to.equal(200);
        await first?.ended;
        expect(await rows()).to.have.length(5);
        const id = await record();
        await resumed.untilHeard(1);
        expect([first?.ids(), resumed.ids()]).to.deep.equal([[], [id]]);
      });
    });

    it('end with the deletion of their row', async () => {
      await withApi({ listenerHeartbeatMs: 50 }, async (base) => {
        const client = await listen({ base });
        const { db } = await testDeps();
        await db.run(sql`DELETE FROM webhook_listeners WHERE club_id = ${club.id}`);
        await client.ended;
      });
    });

    it('end with their process, and resume at another one', async () => {
      let cut: ListeningClient | undefined;
      await withApi({}, async (base) => {
        cut = await listen({ base });
        await recordSome(2);
        await cut.untilHeard(2);
      });
      await cut?.ended;
      expect(await rows()).to.deep.equal([]);
      const ids = await recordSome(2);
      const resumed = await listen({ lastEventId: cut?.lastId() });
      await resumed.untilHeard(2);
      expect(resumed.ids()).to.deep.equal(ids);
    });
  });

  describe('a stream ends, and its listener with it, when', () => {
    const ip = '203.0.113.9';
    const ends: Record<string, (key: { id: Id }) => Promise<unknown>> = {
      'its key is revoked': ({ id }) =>
        call('DELETE', `/v1/clubs/${club.id}/api-keys/${id}`, { token: club.owner.token }),
      'its key loses the scope': ({ id }) =>
        call('PATCH', `/v1/clubs/${club.id}/api-keys/${id}`, {
          token: club.owner.token,
          body: { scopes: ['students:read'] },
        }),
      'its key is limited to another network': ({ id }) =>
        call('PATCH', `/v1/clubs/${club.id}/api-keys/${id}`, {
          token: club.owner.token,
          body: { allowed_networks: ['198.51.100.0/24'] },
        }),
      'its key expires': async () => clock.advance(2 * day),
    };
    for (const [name, end] of Object.entries(ends)) {
      it(name, async () => {
        const key = await buildApiKey(club.id, ['events:read'], { networks: ['203.0.113.0/24'] });
        const client = await listen({ token: key.token, ip });
        await new Promise((resolve) => setTimeout(resolve, 2_500)); // the stream outlives several checks
        const id = await record();
        await client.untilHeard(1);
        await end(key);
        const begin = performance.now();
        await client.ended;
        expect(performance.now() - begin).to.be.below(8 * second);
        expect(client.ids()).to.deep.equal([id]);
        await untilRows(0);
      });
    }

    const personEnds: Record<string, (member: { id: Id; token: string }) => Promise<unknown>> = {
      'its administrator signs out': (member) => call('DELETE', '/v1/auth/session', { token: member.token }),
      'its administrator becomes an editor': ({ id }) =>
        call('PATCH', `/v1/clubs/${club.id}/members/${id}`, { token: club.owner.token, body: { role: 'editor' } }),
      'its administrator is removed from the club': ({ id }) =>
        call('DELETE', `/v1/clubs/${club.id}/members/${id}`, { token: club.owner.token }),
    };
    for (const [name, end] of Object.entries(personEnds)) {
      it(name, async () => {
        const member = await buildMember(club.id, 'admin');
        const client = await listen({ token: member.token });
        expect(client.status).to.equal(200);
        await end(member);
        await client.ended;
        await untilRows(0);
      });
    }

    it('its reader reads nothing', async () => {
      await withApi({ streamDrainWithinMs: 200 }, async (base) => {
        const start = await listen({ base });
        await start.close();
        const { db } = await testDeps();
        const body = JSON.stringify({ id: newId(), data: { text: 'x'.repeat(400_000) } });
        await db.run(sql`INSERT INTO webhook_bodies (event_id, created_at, body, club_id, student_id, type, position)
          SELECT gen_random_uuid(), now(), ${body}, ${club.id}, ${studentId}, 'student.updated', nextval('event_positions')
            FROM generate_series(1, 60)`);
        const response = await fetch(`${base}/v1/clubs/${club.id}/webhook-events/stream`, {
          headers: {
            authorization: `Bearer ${token}`,
            'x-forwarded-for': someAddress(),
            'last-event-id': start.lastId() ?? '',
          },
        });
        expect(response.status).to.equal(200);
        await untilRows(1);
        await untilRows(0);
        await response.body?.cancel();
      });
    });
  });
});
