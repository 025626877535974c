/** Tests of the audit log: which requests get an entry, what it contains, and who can change or remove it (AUD-1 to AUD-4). */
import { expect } from 'chai';
import type { OperationId, RecordOf } from '../../contract/contract.ts';
import { AuditEntry } from '../../entities/audit/audit-entry.ts';
import { removeOldEntries } from '../../domain/audit/entries.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { everyOperation, nameOf } from '../toolkit/drive/every-operation.ts';
import { preparedClub, requestOf } from '../toolkit/drive/prepared-requests.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

type Entry = RecordOf<'AuditEntry'>;

const day = 86_400_000;
const entriesOf = async (clubId: Id): Promise<AuditEntry[]> =>
  (await testDatabase()).manager.find(AuditEntry, { where: { clubId }, order: { createdAt: 'ASC', id: 'ASC' } });
const log = async ({ id, owner }: TestClub, query = '') =>
  (await call('GET', `/v1/clubs/${id}/audit-log${query}`, { token: owner.token })).body;

/** Writes that change nothing, each with the reason. */
const changesNothing: Partial<Record<OperationId, string>> = {
  dryRunAutomation: 'It computes what an automation would do.',
  completeMedia: 'The file of the club is already complete.',
};

const writesOfClubs = everyOperation.filter(
  ({ method, auth, pathParameters }) => method !== 'get' && auth.includes('admin') && pathParameters.includes('clubId'),
);

describe('the audit log', function () {
  this.timeout(30_000);

  describe('an entry', () => {
    for (const operation of writesOfClubs)
      it(`is written for an accepted change, and not for a refused one: ${nameOf(operation)}`, async () => {
        const club = await preparedClub(operation);
        const before = await entriesOf(club.id);
        const { path, ...request } = await requestOf(operation, 'admin', club);
        const answer = await call(operation.method.toUpperCase(), path, { ...request, ip: '203.0.113.7' });
        const added = (await entriesOf(club.id)).slice(before.length);
        if (answer.status >= 300 || operation.operationId in changesNothing) {
          expect(added, answer.text).to.deep.equal([]);
          return;
        }
        expect(added, answer.text).to.have.length(1);
        const [entry] = added;
        const isOfProgram = operation.roles?.length === 0;
        expect(entry).to.include({
          actorKind: isOfProgram ? 'api_key' : 'administrator',
          ...(!isOfProgram && { actorId: club.owner.id }),
          operation: operation.operationId,
          requestId: answer.headers.get('x-request-id'),
          network: '203.0.113.0/24',
        });
        const named = entry?.records.map(({ id }) => id) ?? [];
        const inPath = path.split('/').slice(4);
        expect(named.filter((id) => !inPath.includes(id)).length, 'only one record is new').to.be.at.most(1);
      });
  });

  it('contains the records, the names of the changed fields and the request, and no value', async () => {
    const club = await buildClub();
    const { id: studentId } = await buildStudent(club.id);
    const path = `/v1/clubs/${club.id}/students/${studentId}`;
    const { headers } = await call('PATCH', path, { token: club.owner.token, body: { name: 'Secret Name' } });
    const { data, total } = await log(club);
    expect(total).to.equal(1);
    expect(data[0]).to.deep.equal({
      id: data[0].id,
      created_at: data[0].created_at,
      actor: { kind: 'administrator', id: club.owner.id },
      operation: 'updateStudent',
      records: [{ kind: 'student', id: studentId }],
      fields: ['name'],
      request_id: headers.get('x-request-id'),
      network: data[0].network,
    });
    expect(JSON.stringify(await entriesOf(club.id))).not.to.include('Secret');
  });

  it('names the created record, and the API key that made the request', async () => {
    const club = await buildClub();
    const key = await buildApiKey(club.id, ['tags:write']);
    const tag = await call('POST', `/v1/clubs/${club.id}/tags`, { token: key.token, body: { name: 'Sailors' } });
    const endpoint = await call('POST', `/v1/clubs/${club.id}/webhook-endpoints`, {
      token: club.owner.token,
      body: { url: 'https://93.184.216.34/hooks', event_types: ['student.created'] },
    });
    const [ofEndpoint, ofTag] = (await log(club)).data;
    expect(ofTag).to.deep.include({
      actor: { kind: 'api_key', id: key.id },
      operation: 'createTag',
      records: [{ kind: 'created', id: tag.body.data.id }],
    });
    expect(ofEndpoint.records).to.deep.equal([{ kind: 'created', id: endpoint.body.data.endpoint.id }]);
  });

  it('has no entry for a refused request, a request of a student, and a repetition with an Idempotency-Key', async () => {
    const club = await buildClub();
    const support = await buildMember(club.id, 'support');
    const create = (token: string, body: object, headers = {}) =>
      call('POST', `/v1/clubs/${club.id}/tags`, { token, body, headers });
    expectError(await create(support.token, { name: 'Sailors' }), 'role_not_permitted');
    expectError(await create(club.owner.token, { name: '' }), 'invalid_request');
    const student = await buildStudent(club.id);
    await call('PATCH', '/v1/auth/session', { token: student.token, body: { language: 'de' } });
    expect((await log(club)).total).to.equal(0);
    await create(club.owner.token, { name: 'Sailors' }, { 'idempotency-key': 'one' });
    await create(club.owner.token, { name: 'Sailors' }, { 'idempotency-key': 'one' });
    expectError(await create(club.owner.token, { name: 'Sailors' }), 'name_taken');
    expect((await log(club)).total).to.equal(1);
  });

  it('has an entry for each read of conversations and each export', async () => {
    const club = await preparedClub(everyOperation[0] as never);
    const { agent, conversation } = club.records;
    const read = (path: string) => call('GET', `/v1/clubs/${club.id}${path}`, { token: club.owner.token });
    await read(`/agents/${agent}/conversations`);
    await read(`/agents/${agent}/conversations/${conversation}`);
    await read('/audit-log/export');
    await read('/students');
    const entries = await entriesOf(club.id);
    expect(entries.map(({ operation }) => operation)).to.deep.equal([
      'listAgentConversations',
      'getAgentConversation',
      'exportAuditLog',
    ]);
  });

  describe('GET /v1/clubs/{clubId}/audit-log', () => {
    it('lists the entries of this club, the newest first, by actor, operation, record and time', async () => {
      const [club, other] = [await buildClub(), await buildClub()];
      const admin = await buildMember(club.id, 'admin');
      const create = (token: string, name: string, of = club) =>
        call('POST', `/v1/clubs/${of.id}/tags`, { token, body: { name } });
      const first = await create(club.owner.token, 'One');
      clock.advance(60_000);
      const middle = clock.now().toISOString();
      const second = await create(admin.token, 'Two');
      const tag = first.body.data.id;
      await call('DELETE', `/v1/clubs/${club.id}/tags/${tag}`, { token: admin.token });
      await create(other.owner.token, 'Three', other);
      const operations = async (query: string) =>
        (await log(club, query)).data.map(({ operation }: Entry) => operation);
      expect(await operations('')).to.deep.equal(['deleteTag', 'createTag', 'createTag']);
      expect(await operations(`?actor_id=${admin.id}`)).to.deep.equal(['deleteTag', 'createTag']);
      expect(await operations('?operation=deleteTag')).to.deep.equal(['deleteTag']);
      expect(await operations(`?record_id=${tag}`)).to.deep.equal(['deleteTag', 'createTag']);
      expect(await operations(`?record_id=${second.body.data.id}`)).to.deep.equal(['createTag']);
      expect(await operations(`?since=${middle}`)).to.deep.equal(['deleteTag', 'createTag']);
      expect(await operations(`?until=${middle}`)).to.deep.equal(['createTag']);
      expect(await operations('?page=2&page_size=2')).to.deep.equal(['createTag']);
    });
  });

  describe('GET /v1/clubs/{clubId}/audit-log/export', () => {
    it('returns the entries as CSV with a header line', async () => {
      const club = await buildClub();
      const { body } = await call('POST', `/v1/clubs/${club.id}/tags`, {
        token: club.owner.token,
        body: { name: 'One' },
        headers: { 'x-request-id': 'request-of-a-test' },
        ip: '2001:db8:1:2::3',
      });
      const { data } = await log(club);
      const answer = await call('GET', `/v1/clubs/${club.id}/audit-log/export`, { token: club.owner.token });
      expect(answer.headers.get('content-type')).to.match(/^text\/csv/);
      expect(answer.text).to.equal(
        [
          'created_at,actor_kind,actor_id,operation,records,fields,request_id,network',
          `${data[0].created_at},administrator,${club.owner.id},createTag,created:${body.data.id},name,request-of-a-test,2001:db8:1::/48`,
          '',
        ].join('\r\n'),
      );
    });
  });

  describe('its entries', () => {
    const insert = async (clubId: Id, createdAt: Date): Promise<Id> => {
      const id = newId();
      await (
        await testDatabase()
      ).manager.insert(AuditEntry, {
        id,
        clubId,
        createdAt,
        actorKind: 'administrator',
        actorId: newId(),
        operation: 'createTag',
        records: [],
        fields: [],
        requestId: 'request-1',
        network: '203.0.113.0/24',
      });
      return id;
    };

    it('cannot be changed, and cannot be deleted before 400 days', async () => {
      const club = await buildClub();
      const id = await insert(club.id, new Date(Date.now() - 399 * day));
      const source = await testDatabase();
      await eachCase(
        [`UPDATE audit_entries SET operation = 'x' WHERE id = $1`, 'DELETE FROM audit_entries WHERE id = $1'],
        async (statement) => {
          const refusal = await source.query(statement, [id]).catch((error: unknown) => String(error));
          expect(refusal).to.match(/An entry of the audit log (?:cannot be changed|is kept for 400 days)/);
        },
      );
      expect(await entriesOf(club.id)).to.have.length(1);
    });

    it('are removed after 400 days, and not earlier by a wrong clock', async () => {
      const club = await buildClub();
      await insert(club.id, new Date(Date.now() - 401 * day));
      const younger = await insert(club.id, new Date(Date.now() - 399 * day));
      const { db } = await testDeps();
      while ((await removeOldEntries(db, new Date(Date.now() + 1_000 * day))).more);
      expect((await entriesOf(club.id)).map(({ id }) => id)).to.deep.equal([younger]);
    });

    it('are deleted with their club', async () => {
      const club = await buildClub();
      await insert(club.id, new Date());
      await (await testDatabase()).query(`DELETE FROM clubs WHERE id = $1`, [club.id]);
      expect(await entriesOf(club.id)).to.deep.equal([]);
    });
  });
});
