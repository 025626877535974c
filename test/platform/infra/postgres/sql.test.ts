import { expect } from 'chai';
import { getMetadataArgsStorage } from 'typeorm';
import { Club } from '../../../../entities/clubs/club.ts';
import '../../../../entities/data-source.ts';
import { SalesNotice } from '../../../../entities/sales/sales-notice.ts';
import { all, columns, given, raw, sql, tableOf, type Sql } from '../../../../platform/infra/postgres/sql.ts';

function rendered(statement: Sql): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  return { text: statement.render(values), values };
}

describe('sql', () => {
  it('numbers the values in the order of the text', () => {
    expect(rendered(sql`SELECT ${'a'}, ${null} WHERE id = ANY (${['x', 'y']})`)).to.deep.equal({
      text: 'SELECT $1, $2 WHERE id = ANY ($3)',
      values: ['a', null, ['x', 'y']],
    });
  });

  it('includes nested SQL and the values of the nested SQL', () => {
    const inner = sql`status = ${'open'} AND due < ${7}`;
    expect(rendered(sql`SELECT ${1} FROM jobs WHERE ${inner} LIMIT ${20}`)).to.deep.equal({
      text: 'SELECT $1 FROM jobs WHERE status = $2 AND due < $3 LIMIT $4',
      values: [1, 'open', 7, 20],
    });
  });

  it('can be rendered again, and can be a part of several statements', () => {
    const own = sql`club_id = ${'c'}`;
    const both = sql`${own} OR ${own}`;
    for (const time of ['first', 'second'])
      expect(rendered(both), time).to.deep.equal({ text: 'club_id = $1 OR club_id = $2', values: ['c', 'c'] });
  });

  it('never inserts the text of a value', () => {
    const hostile = `'; DROP TABLE clubs; --`;
    expect(rendered(sql`name = ${hostile}`)).to.deep.equal({ text: 'name = $1', values: [hostile] });
  });

  it('inserts raw text unchanged', () => {
    expect(rendered(sql`SELECT id FROM ${raw('clubs')}`)).to.deep.equal({ text: 'SELECT id FROM clubs', values: [] });
  });
});

describe('all', () => {
  it('joins conditions by AND and omits absent filters', () => {
    const status: string | undefined = undefined;
    const where = all([sql`club_id = ${'c'}`, status === undefined ? undefined : sql`status = ${status}`, sql`seen`]);
    expect(rendered(where)).to.deep.equal({ text: 'club_id = $1 AND seen', values: ['c'] });
  });

  it('throws if no condition remains', () => {
    expect(() => all([undefined])).to.throw();
  });
});

describe('the helper `given`', () => {
  it('returns all values of an object except undefined values', () => {
    const change = given({ name: undefined, model: null, limit: 0, description: '' });
    expect(change).to.deep.equal({ model: null, limit: 0, description: '' });
    expect(change).not.to.have.property('name');
  });
});

describe('columns', () => {
  it('lists the columns of an entity with the names of their properties', () => {
    expect(rendered(columns(SalesNotice, ['id', 'connectionId', 'errorCode']))).to.deep.equal({
      text: 'id, connection_id AS "connectionId", error_code AS "errorCode"',
      values: [],
    });
  });

  it('prefixes the columns with the alias of the table', () => {
    expect(rendered(columns(SalesNotice, ['id', 'clubId'], 'notice')).text).to.equal(
      'notice.id, notice.club_id AS "clubId"',
    );
  });

  it('names columns as the caller requests', () => {
    const notice = columns(SalesNotice, { noticeId: 'id', connection_id: 'connectionId' }, 'notice');
    expect(rendered(notice.and(columns(Club, { clubSlug: 'slug', language: 'language' }, 'club'))).text).to.equal(
      'notice.id AS "noticeId", notice.connection_id, club.slug AS "clubSlug", club.language',
    );
  });

  it('derives the name of every column from its property', () => {
    const named = getMetadataArgsStorage().columns.filter(({ options }) => options.name !== undefined);
    expect(named.map(({ propertyName }) => propertyName)).to.deep.equal([]);
  });

  it('adds computed columns, with their values', () => {
    const notice = columns(SalesNotice, ['id']).and<{ old: boolean }>(sql`received_at < ${9} AS old`);
    expect(rendered(sql`SELECT ${notice} FROM ${raw(tableOf(SalesNotice))}`)).to.deep.equal({
      text: 'SELECT id, received_at < $1 AS old FROM sales_notices',
      values: [9],
    });
  });

  it('refuses a class that is not an entity', () => {
    expect(() => tableOf(Date)).to.throw('Date is not an entity');
  });
});
