/** Tests the lists that take `updated_since` (CUR-6 to CUR-8). */
import { expect } from 'chai';
import type { CallerKind, ContractOperation, OperationId } from '../../contract/contract.ts';
import { contractDocument } from '../../contract/document.ts';
import { dereference, isObject, isReference, type JsonObject } from '../../contract/openapi.ts';
import type { Id } from '../../platform/core/ids.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import type { FurnishedClub } from '../toolkit/builders/furnished-club.ts';
import { buildFullLists } from '../toolkit/builders/full-lists.ts';
import { call, expectError, type Answer } from '../toolkit/drive/api.ts';
import { everyOperation, nameOf, operationOf, pathOf } from '../toolkit/drive/every-operation.ts';
import { namedInPath } from '../toolkit/drive/named-records.ts';
import { isPrepared, preparedClub, requestOf } from '../toolkit/drive/prepared-requests.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const takes = (parameter: string) => (operation: ContractOperation) =>
  operation.parameters.some(({ name }) => name === parameter);
const lists = everyOperation.filter(takes('updated_since'));

/** The table of a list's records, and how a test changes a record. Most triggers count each write. */
interface Stored {
  table: string;
  change?: string;
  /** Fields that change without a change of the record, as the description of the list says. */
  without?: readonly string[];
}

const stored: Readonly<Partial<Record<OperationId, Stored>>> = {
  listStudents: { table: 'students', change: `name = name || '.'` },
  listCourses: { table: 'courses', without: ['lesson_count', 'published_lesson_count'] },
  listDeliveries: { table: 'access_deliveries' },
  listCohorts: { table: 'cohorts' },
  listEnrollments: {
    table: 'enrollments',
    change: `starts_at = starts_at - interval '1 second'`,
    without: ['delivery.name', 'student.name', 'student.email'],
  },
  listWebhookEndpoints: { table: 'webhook_endpoints', without: ['pending_deliveries'] },
  listAgents: { table: 'agents' },
  listAssignments: { table: 'assignments' },
  listAssignmentExtensions: { table: 'assignment_extensions', without: ['student.name', 'student.email'] },
  listAssignmentSubmissions: {
    table: 'assignment_submissions',
    change: 'file_count = file_count + 1',
    without: ['student.name', 'student.email', 'lesson_title', 'course_title', 'block_label', 'late'],
  },
  listCampaigns: { table: 'campaigns' },
  listCertificates: { table: 'certificates', change: 'version = version + 1' },
  listAutomations: { table: 'automations', without: ['active_runs', 'total_runs'] },
  listRepositories: {
    table: 'repositories',
    change: `title = title || '.'`,
    without: ['file_count', 'total_bytes', 'cover'],
  },
  listCommunitySpaces: { table: 'community_spaces', without: ['member_count'] },
  listProducts: { table: 'products' },
  listRegistrationLinks: { table: 'registration_links', change: `name = name || '.'`, without: ['deliveries.name'] },
  listMedia: {
    table: 'media',
    change: `title = title || '.'`,
    without: ['tracks', 'transcription', 'favorite', 'usage_count'],
  },
  listMediaFolders: { table: 'media_folders' },
  listMentorships: { table: 'mentorships', without: ['mentor.name'] },
  listMentorshipSessions: {
    table: 'mentorship_sessions',
    change: `agenda = agenda || '.'`,
    without: ['mentorship.title', 'mentor.name', 'student'],
  },
  listPurchases: { table: 'purchases', without: ['product.name', 'student.name', 'student.email'] },
  listSubscriptions: { table: 'subscriptions', without: ['product.name', 'student.name', 'student.email'] },
};

/** Tables whose rows have only the time of their last change. */
const withoutUpdatedAt = new Set(['students', 'certificates', 'assignment_submissions']);

const storedOf = ({ operationId }: ContractOperation): Stored => {
  const found = stored[operationId];
  if (!found) throw new Error(`The test names no table of ${operationId}.`);
  return found;
};

/**
 * A record as text, without `updated_at`, the fields that change without the record, and the signatures of addresses, which change each
 * second.
 */
function asText(list: ContractOperation, record: JsonObject): string {
  const { without = [] } = storedOf(list);
  const fields = Object.entries(record).flatMap(([name, value]) => {
    if (name === 'updated_at' || without.includes(name)) return [];
    const visible = (one: unknown) =>
      isObject(one) ? Object.entries(one).filter(([key]) => !without.includes(`${name}.${key}`)) : one;
    return [[name, Array.isArray(value) ? value.map(visible) : visible(value)]];
  });
  return JSON.stringify(fields).replaceAll(/X-Amz-(?:Date|Signature)=\w+/g, '');
}

const asTextOf = (list: ContractOperation) => (record: JsonObject) => asText(list, record);

const idOf = (record: JsonObject): string => String(record['id'] ?? (record['student'] as JsonObject)['id']);

const pathIn = (operation: ContractOperation, club: FurnishedClub): string =>
  pathOf(operation, {
    clubId: club.id,
    ...Object.fromEntries(namedInPath(operation, 'admin').map(({ place, record }) => [place, club.records[record]])),
  });

type Values = Readonly<Record<string, string | number>>;

const read = (operation: ContractOperation, club: FurnishedClub, query: Values = {}): Promise<Answer> => {
  const text = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return call('GET', `${pathIn(operation, club)}?${text.toString()}`, { token: club.owner.token });
};

type RecordsById = ReadonlyMap<string, JsonObject>;

/** The records of a list by id. A list of a record that the operation deleted is empty. */
async function readRecords(
  operation: ContractOperation,
  club: FurnishedClub,
  query: Values = {},
): Promise<RecordsById> {
  const { status, body } = await read(operation, club, { page_size: 100, ...query });
  const rows: JsonObject[] = status === 200 ? body.data : [];
  return new Map(rows.map((row) => [idOf(row), row]));
}

/** A club whose records are older than `afterAging`, and these records for each list. */
interface ClubState {
  club: FurnishedClub;
  records: RecordsById[];
}

const readAll = (club: FurnishedClub): Promise<RecordsById[]> =>
  Promise.all(lists.map((operation) => readRecords(operation, club)));

/** Makes all records of the club old: their last changes lie before `updatedSince`. The trigger would write the present time. */
async function age(clubId: Id): Promise<void> {
  const source = await testDatabase();
  await source.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    for (const { table } of Object.values(stored)) {
      const ofClub =
        table === 'assignment_extensions'
          ? `assignment_id IN (SELECT id FROM assignments WHERE club_id = $1)`
          : 'club_id = $1';
      await tx.query(
        `UPDATE ${table} SET ${withoutUpdatedAt.has(table) ? '' : `updated_at = '2020-01-01',`} changed_at = '2020-01-01T00:00:00.123456Z' WHERE ${ofClub}`,
        [clubId],
      );
    }
  });
}

/** Deletions run last, because they take the records of other operations. */
const orderOf = ({ method }: ContractOperation): number => (method === 'delete' ? 1 : 0);

const afterAging = '2021-01-01T00:00:00Z';

describe('updated_since', function () {
  this.timeout(60_000);

  it('belongs to the lists for API keys whose records have `updated_at`, but one, and to 8 others', () => {
    const recordOf = ({ path }: ContractOperation): JsonObject => {
      const response = contractDocument.paths[path]?.get?.responses['200'];
      const media = response && !isReference(response) ? response.content?.['application/json'] : undefined;
      const { schemas } = contractDocument.components;
      const answer = isObject(media) && isObject(media['schema']) ? dereference(media['schema'], schemas) : {};
      const data = isObject(answer['properties']) ? answer['properties']['data'] : undefined;
      const items = isObject(data) && isObject(data['items']) ? dereference(data['items'], schemas) : {};
      return isObject(items['properties']) ? items['properties'] : {};
    };
    const expected = everyOperation.filter(
      (operation) =>
        operation.scope !== undefined &&
        takes('cursor')(operation) &&
        takes('page')(operation) &&
        'updated_at' in recordOf(operation),
    );
    const ids = (operations: readonly ContractOperation[]) =>
      operations.map(({ operationId }) => operationId).toSorted();
    const others = [
      'listStudents',
      'listEnrollments',
      'listCertificates',
      'listAssignmentSubmissions',
      'listMedia',
      'listMentorshipSessions',
      'listRepositories',
      'listRegistrationLinks',
    ];
    expect([...ids(lists), 'listAgentSources'].toSorted()).to.deep.equal([...ids(expected), ...others].toSorted());
    expect(ids(lists)).to.deep.equal(Object.keys(stored).toSorted());
  });

  describe('lists each record that changes by', () => {
    const writes = everyOperation.filter(
      ({ method, pathParameters, contentTypes }) =>
        method !== 'get' && pathParameters.includes('clubId') && !contentTypes.includes('text/event-stream'),
    );
    const changing = new Set<string>();
    let shared: ClubState | undefined;
    const fresh = async (operation: ContractOperation): Promise<ClubState> => {
      const club = await preparedClub(operation);
      await age(club.id);
      return { club, records: await readAll(club) };
    };
    /** Runs the operation in the club of the operation before it, or in a new club if that club refuses the operation. */
    const write = async (operation: ContractOperation, kind: CallerKind) => {
      const ran = async (state: ClubState) => {
        const { path, ...request } = await requestOf(operation, kind, state.club);
        return (await call(operation.method.toUpperCase(), path, request)).status < 300;
      };
      const former = isPrepared(operation) ? undefined : shared;
      shared = undefined; // after a failure of this test, the next operation needs a new club
      if (former && (await ran(former))) return former;
      const state = await fresh(operation);
      await ran(state);
      return state;
    };
    for (const operation of writes.toSorted((one, other) => orderOf(one) - orderOf(other)))
      for (const kind of operation.auth)
        it(`${nameOf(operation)} (${kind})`, async () => {
          const { club, records: before } = await write(operation, kind);
          const after = await readAll(club);
          let hasChanged = false;
          for (const [index, records] of after.entries()) {
            const list = lists[index] as ContractOperation;
            const changed = [...records].filter(([id, record]) => {
              const former = before[index]?.get(id);
              return !former || asText(list, former) !== asText(list, record);
            });
            if (changed.length === 0) continue;
            hasChanged = true;
            const listed = await readRecords(list, club, { updated_since: afterAging });
            for (const [id, record] of changed) {
              expect([...listed.keys()], `${list.operationId}: ${asText(list, record)}`).to.include(id);
              if ('updated_at' in record)
                expect(String(record['updated_at']) > afterAging, `updated_at of ${asText(list, record)}`).to.equal(
                  true,
                );
            }
          }
          if (hasChanged) changing.add(operation.operationId);
          await age(club.id);
          shared = { club, records: after };
        });

    it('at least 60 operations', () => {
      expect(changing.size).to.be.at.least(60);
    });
  });

  it('lists the assignments whose position changes by an order or a deletion of others', async () => {
    const club = await buildFullLists();
    const list = operationOf('listAssignments');
    const ids = [...(await readRecords(list, club)).keys()];
    await age(club.id);
    const { token } = club.owner;
    const lesson = `/v1/clubs/${club.id}/lessons/${club.records.lesson}/assignments`;
    const removed = await call('DELETE', `/v1/clubs/${club.id}/assignments/${ids[1]}`, { token });
    expect(removed.status, removed.text).to.equal(204);
    const later = await readRecords(list, club, { updated_since: afterAging });
    expect([...later.keys()]).to.deep.equal(ids.slice(2));
    expect([...later.values()].every((record) => String(record['updated_at']) > afterAging)).to.equal(true);
    await age(club.id);
    const reversed = ids.filter((_, index) => index !== 1).toReversed();
    const ordered = await call('PUT', `${lesson}/order`, { token, body: { assignment_ids: reversed } });
    expect(ordered.status, ordered.text).to.equal(204);
    const all = await readRecords(list, club, { updated_since: afterAging });
    expect([...all.keys()]).to.deep.equal(reversed);
    expect([...all.values()].every((record) => String(record['updated_at']) > afterAging)).to.equal(true);
  });

  it('lists a repository whose files change', async () => {
    const club = await buildFullLists();
    await age(club.id);
    const { repository, file } = club.records;
    const path = `/v1/clubs/${club.id}/repositories/${repository}/items`;
    const changed = await call('PUT', path, { token: club.owner.token, body: { media_ids: [file] } });
    expect(changed.status, changed.text).to.equal(200);
    const listed = await readRecords(operationOf('listRepositories'), club, { updated_since: afterAging });
    expect([...listed.keys()]).to.deep.equal([repository]);
  });

  describe('of a full club', () => {
    let club: FurnishedClub;
    before(async () => {
      club = await buildFullLists();
      await age(club.id);
    });

    for (const operation of lists)
      it(`leaves out older records, and includes the records of its instant: ${nameOf(operation)}`, async () => {
        const all = await read(operation, club, { page_size: 100 });
        expect(all.body).not.to.have.property('next_updated_since');
        const none = await read(operation, club, { updated_since: afterAging });
        expect([none.body.data, none.body.total]).to.deep.equal([[], 0]);
        for (const since of ['2020-01-01T00:00:00.123Z', '2020-01-01T01:00:00.123456+01:00', '2020-01-01t00:00:00z']) {
          const { body } = await read(operation, club, { page_size: 100, updated_since: since });
          expect(body.data.map(asTextOf(operation))).to.deep.equal(all.body.data.map(asTextOf(operation)));
          expect(body.total).to.equal(all.body.total);
        }
        expect((await read(operation, club, { updated_since: '2020-01-01T00:00:00.124Z' })).body.total).to.equal(0);
        const changed = all.body.data.slice(1, 3).map(idOf);
        const { table, change = 'updated_at = updated_at' } = storedOf(operation);
        const key = table === 'assignment_extensions' ? 'student_id' : 'id';
        const source = await testDatabase();
        await source.query(`UPDATE ${table} SET ${change} WHERE ${key} = ANY ($1)`, [changed]);
        const query = { page_size: 1, updated_since: afterAging };
        const { body: first } = await read(operation, club, query);
        const { body: second } = await read(operation, club, { ...query, cursor: first.next_cursor });
        expect([...first.data, ...second.data].map(idOf)).to.deep.equal(changed);
        expect([first.total, second.total, second.next_cursor]).to.deep.equal([2, 2, undefined]);
      });

    it('answers the same `next_updated_since` on all pages of a walk, shortly before its first page', async () => {
      const operation = operationOf('listCourses');
      const query = { page_size: 1, updated_since: '2020-01-01T00:00:00Z' };
      const source = await testDatabase();
      const [{ now }] = await source.query<[{ now: Date }]>('SELECT clock_timestamp() AS now');
      const first = (await read(operation, club, query)).body;
      expect(new Date(first.next_updated_since).getTime()).to.be.at.most(now.getTime());
      let cursor: string | undefined = first.next_cursor;
      let pages = 1;
      for (; cursor !== undefined; pages++) {
        const { body } = await read(operation, club, { ...query, cursor });
        expect(body.next_updated_since).to.equal(first.next_updated_since);
        cursor = body.next_cursor;
      }
      expect(pages).to.equal(first.total);
    });

    it('is part of the cursor', async () => {
      const operation = operationOf('listCourses');
      const query = { page_size: 1, updated_since: '2020-01-01T00:00:00Z' };
      const { next_cursor: cursor } = (await read(operation, club, query)).body;
      const { next_cursor: whole } = (await read(operation, club, { page_size: 1 })).body;
      expectError(await read(operation, club, { cursor }), 'invalid_cursor');
      expectError(await read(operation, club, { cursor, updated_since: '2020-01-01T00:00:01Z' }), 'invalid_cursor');
      expectError(await read(operation, club, { ...query, cursor: whole }), 'invalid_cursor');
      expectError(await read(operation, club, { ...query, cursor, page: 2 }), 'malformed_request');
    });

    it('works with the other filters, and with pages', async () => {
      const operation = operationOf('listCourses');
      const since = '2020-01-01T00:00:00Z';
      const drafts = await read(operation, club, { status: 'draft', page_size: 100 });
      const listed = await read(operation, club, { status: 'draft', page_size: 100, updated_since: since });
      expect(listed.body.data.map(asTextOf(operation))).to.deep.equal(drafts.body.data.map(asTextOf(operation)));
      const all = await read(operation, club, { page_size: 100 });
      const second = await read(operation, club, { page: 2, page_size: 1, updated_since: since });
      expect(second.body.data.map(asTextOf(operation))).to.deep.equal(
        all.body.data.slice(1, 2).map(asTextOf(operation)),
      );
      expect(second.body.next_updated_since).to.be.a('string');
    });

    it('is refused if it is no time, or a time that does not exist', async () => {
      const operation = operationOf('listCourses');
      for (const since of ['', 'x', '2026', '2026-01-01', '1767225600', '2026-01-01T00:00:00', '2026-01-01 00:00:00'])
        expect((await read(operation, club, { updated_since: since })).status, since).to.equal(422);
      for (const since of [
        '2026-02-30T00:00:00Z',
        '2026-01-01T25:00:00Z',
        '2016-12-31T23:59:60Z',
        '2026-01-01T00:00:00+99:00',
      ])
        expectError(await read(operation, club, { updated_since: since }), 'invalid_request');
      const token = club.owner.token;
      const twice = `${pathIn(operation, club)}?updated_since=${afterAging}&updated_since=${afterAging}`;
      expectError(await call('GET', twice, { token }), 'malformed_request');
    });

    it('shows no records of another club', async () => {
      const other = await buildClub();
      const path = `/v1/clubs/${other.id}/courses?updated_since=2020-01-01T00:00:00Z`;
      expect((await call('GET', path, { token: other.owner.token })).body.data).to.deep.equal([]);
    });
  });
});
