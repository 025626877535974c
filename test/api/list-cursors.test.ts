/** Tests the cursors of every list of the contract (CUR-1 to CUR-5). */
import { expect } from 'chai';
import type { CallerKind, ContractOperation, OperationId } from '../../contract/contract.ts';
import { contractDocument } from '../../contract/document.ts';
import type { FurnishedClub } from '../toolkit/builders/furnished-club.ts';
import { buildFullLists } from '../toolkit/builders/full-lists.ts';
import { buildStudent } from '../toolkit/builders/clubs.ts';
import { call, type Answer } from '../toolkit/drive/api.ts';
import { everyOperation, nameOf, operationOf, pathOf } from '../toolkit/drive/every-operation.ts';
import { namedInPath } from '../toolkit/drive/named-records.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const takes = (parameter: string) => (operation: ContractOperation) =>
  operation.parameters.some(({ name }) => name === parameter);
/** Lists with pages and a cursor. A log has only a cursor (EVT-25). */
const lists = everyOperation.filter((one) => takes('cursor')(one) && takes('page')(one));

interface Reading {
  operation: ContractOperation;
  kind: CallerKind;
  club: FurnishedClub;
}

const pathIn = ({ operation, kind, club }: Reading): string =>
  pathOf(operation, {
    clubId: club.id,
    ...Object.fromEntries(namedInPath(operation, kind).map(({ place, record }) => [place, club.records[record]])),
  });

function read(reading: Reading, query: Readonly<Record<string, string | number>>): Promise<Answer> {
  const { kind, club } = reading;
  const text = new URLSearchParams(
    Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)])),
  );
  return call('get', `${pathIn(reading)}?${text.toString()}`, {
    token: (kind === 'student' ? club.student : club.owner).token,
  });
}

/** A row as text, without the signatures of addresses, which change each second. */
const asText = (row: unknown) => JSON.stringify(row).replaceAll(/X-Amz-(?:Date|Signature)=\w+/g, '');

async function walk(
  reading: Reading,
  query: Readonly<Record<string, string | number>>,
): Promise<{ rows: string[]; totals: number[] }> {
  const rows: string[] = [];
  const totals: number[] = [];
  for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
    const { status, body } = await read(reading, { ...query, ...(cursor !== undefined && { cursor }) });
    expect(status, JSON.stringify(body)).to.equal(200);
    rows.push(...body.data.map(asText));
    totals.push(body.total);
    cursor = body.next_cursor;
    expect(pages, 'pages of one list').to.be.below(60);
  }
  return { rows, totals };
}

async function paged(reading: Reading, query: Readonly<Record<string, string | number>>): Promise<string[]> {
  const rows: string[] = [];
  for (let page = 1; ; page++) {
    const { body } = await read(reading, { ...query, page, page_size: 2 });
    rows.push(...body.data.map(asText));
    if (rows.length >= body.total || body.data.length === 0) return rows;
  }
}

const codeOf = ({ status, body }: Answer) => (status < 400 ? status : `${status} ${body.error.code}`);

describe('cursors of lists', () => {
  let club: FurnishedClub;
  let other: FurnishedClub;
  before(async function () {
    this.timeout(60_000);
    [club, other] = await Promise.all([buildFullLists(), buildFullLists()]);
  });

  it('exist for every list with pages, except six lists', () => {
    const withoutCursor = everyOperation.filter((one) => takes('page')(one) && !takes('cursor')(one));
    expect(withoutCursor.map(({ operationId }) => operationId).toSorted()).to.deep.equal([
      'getAgentConversation',
      'getConversation',
      'getConversationOfAgent',
      'listAiUsage',
      'listMediaUsage',
      'listOwnSessions',
    ]);
    expect(lists).to.have.length(69);
  });

  for (const operation of lists)
    for (const kind of operation.auth)
      it(`return the rows of the numbered pages: ${nameOf(operation)} (${kind})`, async () => {
        const reading = { operation, kind, club };
        const rows = await paged(reading, {});
        expect(rows.length, 'rows of the list').to.be.at.least(4);
        for (const size of [1, 2]) {
          const walked = await walk(reading, { page_size: size });
          expect(walked.rows).to.deep.equal(rows);
          expect(new Set(walked.totals)).to.deep.equal(new Set([rows.length]));
        }
      });

  const filters: readonly (readonly [OperationId, Readonly<Record<string, string>>])[] = [
    ['listStudents', { q: 'example' }],
    ['listCertificates', { q: 'stella' }],
    ['listMedia', { q: 'o' }],
    ['listMedia', { types: 'video,image,pdf,file' }],
    ['listWebhookDeliveries', { event_type: 'student.updated' }],
    ['listWebhookDeliveries', { status: 'succeeded' }],
    ['listSpaceMembers', { status: 'banned' }],
    ['listEnrollments', { revoked: 'false' }],
  ];
  for (const [operationId, filter] of filters)
    it(`return the rows of the numbered pages with a filter: ${operationId} ${JSON.stringify(filter)}`, async () => {
      const reading: Reading = { operation: operationOf(operationId), kind: 'admin', club };
      const rows = await paged(reading, filter);
      expect(rows.length, 'rows of the list').to.be.at.least(3);
      expect((await walk(reading, { ...filter, page_size: 1 })).rows).to.deep.equal(rows);
    });

  it('continue after the row of the cursor was removed, even in a search', async () => {
    const own = await buildFullLists();
    for (const filter of [{}, { q: 'example' }]) {
      const reading: Reading = { operation: operationOf('listStudents'), kind: 'admin', club: own };
      const [, second = '', third = '', ...others] = await paged(reading, filter);
      const first = await read(reading, { ...filter, page_size: 2 });
      expect(first.body.data.map(asText)[1]).to.equal(second);
      const cursor: string = first.body.next_cursor;
      await (
        await testDatabase()
      ).query(
        `UPDATE students SET removed_at = now(), name = '', email = NULL, password_hash = NULL, verified_at = NULL, avatar_key = NULL WHERE id = $1`,
        [JSON.parse(second).id],
      );
      const { body } = await read(reading, { ...filter, page_size: 100, cursor });
      expect(body.data.map(asText)).to.deep.equal([third, ...others]);
      expect(body).not.to.have.property('next_cursor');
    }
  });

  describe('are refused', () => {
    const cursorOf = async (reading: Reading, query: Readonly<Record<string, string>> = {}): Promise<string> => {
      const { body } = await read(reading, { page_size: 1, ...query });
      expect(body.next_cursor).to.be.a('string');
      return body.next_cursor;
    };

    for (const operation of lists)
      for (const kind of operation.auth)
        it(`in another list or club: ${nameOf(operation)} (${kind})`, async () => {
          const reading: Reading = { operation, kind, club };
          const cursor = await cursorOf(reading);
          expect(codeOf(await read({ ...reading, club: other }, { cursor })), 'of another club').to.equal(
            '422 invalid_cursor',
          );
          const another: Reading = {
            operation: operationOf(operation.operationId === 'listCourses' ? 'listStudents' : 'listCourses'),
            kind: 'admin',
            club,
          };
          expect(codeOf(await read(another, { cursor })), 'in another list').to.equal('422 invalid_cursor');
          expect(codeOf(await read(reading, { cursor })), 'in its list').to.equal(200);
        });

    const students: Reading = { operation: operationOf('listStudents'), kind: 'admin', club: undefined as never };

    it('with other filters, but not with another page size', async () => {
      const reading = { ...students, club };
      const cursor = await cursorOf(reading);
      for (const filter of [{ verified: 'true' }, { q: 'example' }])
        expect(codeOf(await read(reading, { ...filter, cursor }))).to.equal('422 invalid_cursor');
      expect(codeOf(await read(reading, { cursor, page_size: 3 }))).to.equal(200);
      const filtered = await cursorOf(reading, { q: 'example' });
      expect(codeOf(await read(reading, { cursor: filtered }))).to.equal('422 invalid_cursor');
      expect(codeOf(await read(reading, { cursor: filtered, q: 'example' }))).to.equal(200);
    });

    it('in another list with the same order and filters', async () => {
      const [agents, campaigns] = (['listAgents', 'listCampaigns'] as const).map((operationId): Reading => ({
        operation: operationOf(operationId),
        kind: 'admin',
        club,
      }));
      if (!agents || !campaigns) throw new Error('There are no two lists.');
      const cursor = await cursorOf(agents);
      expect(codeOf(await read(campaigns, { cursor }))).to.equal('422 invalid_cursor');
      expect(codeOf(await read(agents, { cursor }))).to.equal(200);
    });

    it('for another record in the path', async () => {
      const reading: Reading = { operation: operationOf('listPointAwards'), kind: 'admin', club };
      const cursor = await cursorOf(reading);
      const another = await buildStudent(club.id);
      const elsewhere = { ...club, records: { ...club.records, student: another.id } };
      expect(codeOf(await read({ ...reading, club: elsewhere }, { cursor }))).to.equal('422 invalid_cursor');
    });

    it('for another student', async () => {
      const reading: Reading = { operation: operationOf('listClassroomSpaces'), kind: 'student', club };
      const cursor = await cursorOf(reading);
      const another = await buildStudent(club.id);
      expect(codeOf(await read({ ...reading, club: { ...club, student: another } }, { cursor }))).to.equal(
        '422 invalid_cursor',
      );
    });

    it('with a changed, cut, padded, empty or foreign text', async () => {
      const reading = { ...students, club };
      const cursor = await cursorOf(reading);
      const bytes = Buffer.from(cursor, 'base64url');
      const flipped = Array.from({ length: bytes.length }, (_, index) => {
        const copy = Buffer.from(bytes);
        copy[index] = (copy[index] ?? 0) ^ 1;
        return copy.toString('base64url');
      });
      const forged = [
        ...flipped,
        cursor.slice(0, -1),
        cursor.slice(1),
        `${cursor}=`,
        `${cursor} `,
        `${cursor}A`,
        bytes.toString('base64'),
        '',
        'x',
        'A'.repeat(4_000),
        JSON.stringify(['2026-01-01', club.records.student]),
        "' OR true --",
      ].filter((text) => text !== cursor);
      for (const text of forged)
        expect(codeOf(await read(reading, { cursor: text })), text).to.equal('422 invalid_cursor');
    });

    it('together with a page number', async () => {
      const reading = { ...students, club };
      const cursor = await cursorOf(reading);
      for (const page of [1, 2])
        expect(codeOf(await read(reading, { cursor, page })), `page ${page}`).to.equal('400 malformed_request');
      expect(
        codeOf(await call('get', `${pathIn(reading)}?cursor=${cursor}&cursor=${cursor}`, { token: club.owner.token })),
      ).to.equal('400 malformed_request');
    });

    it('before the list searches for its records', async () => {
      const { id } = club;
      const path = pathOf(operationOf('listPointAwards'), { clubId: id });
      expect(codeOf(await call('get', `${path}?cursor=x`, { token: club.owner.token }))).to.equal('422 invalid_cursor');
    });
  });

  it('are described by one parameter and one property of the contract', () => {
    for (const { path } of lists) {
      const operation = contractDocument.paths[path]?.get;
      const references = JSON.stringify([operation?.parameters, operation?.responses['200']]);
      expect(references).to.contain('"#/components/parameters/Cursor"');
      expect(references).to.contain('"next_cursor":{"$ref":"#/components/schemas/NextCursor"}');
    }
  });
});
