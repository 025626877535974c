import { expect } from 'chai';
import { erasureOrder, type TableReference, type TableRows } from '../../../domain/erasures/clubs/order.policy.ts';

const reference = (table: string, column: string, parent: string): TableReference => ({ table, column, parent });
const rootsOf = (rows: TableRows[], references: TableReference[]) =>
  erasureOrder(rows, references).map(({ table }) => table);

describe('erasureOrder', () => {
  it('erases a table before the table that its foreign key refers to', () => {
    const rows: TableRows[] = [
      { table: 'courses', by: 'club' },
      { table: 'lessons', by: 'club' },
    ];
    expect(rootsOf(rows, [reference('lessons', 'course_id', 'courses')])).to.deep.equal(['lessons', 'courses']);
  });

  it('keeps the order of tables that do not refer to each other', () => {
    const rows: TableRows[] = ['b', 'a', 'c'].map((table) => ({ table, by: 'club' }));
    expect(rootsOf(rows, [])).to.deep.equal(['b', 'a', 'c']);
  });

  it('erases a table before its parent’s table if a row below the parent refers to it', () => {
    const rows: TableRows[] = [
      { table: 'students', by: 'club' },
      { table: 'mails', by: { parent: 'students', column: 'student_id' } },
      { table: 'clicks', by: { parent: 'mails', column: 'mail_id' } },
      { table: 'notes', by: 'club' },
    ];
    const references = [reference('mails', 'student_id', 'students'), reference('notes', 'click_id', 'clicks')];
    expect(rootsOf(rows, references)).to.deep.equal(['notes', 'students']);
  });

  it('sorts the tables below a parent', () => {
    const rows: TableRows[] = [
      { table: 'automations', by: 'club' },
      { table: 'versions', by: { parent: 'automations', column: 'automation_id' } },
      { table: 'runs', by: { parent: 'automations', column: 'automation_id' } },
    ];
    const [root] = erasureOrder(rows, [reference('runs', 'version_id', 'versions')]);
    expect(root?.children.map(({ table }) => table)).to.deep.equal(['runs', 'versions']);
  });

  it('ignores a foreign key whose rows are erased with each page of the parent', () => {
    const rows: TableRows[] = [
      { table: 'students', by: 'club' },
      { table: 'invitations', by: 'club' },
      { table: 'tokens', by: { parent: 'students', column: 'student_id' } },
      { table: 'tokens', by: { parent: 'invitations', column: 'invitation_id' } },
    ];
    const references = [
      reference('tokens', 'student_id', 'students'),
      reference('tokens', 'invitation_id', 'invitations'),
    ];
    expect(rootsOf(rows, references)).to.deep.equal(['students', 'invitations']);
  });

  it('treats refersTo like a foreign key', () => {
    const rows: TableRows[] = [
      { table: 'events', by: 'club' },
      { table: 'deliveries', by: 'club', refersTo: ['events'] },
    ];
    expect(rootsOf(rows, [])).to.deep.equal(['deliveries', 'events']);
  });

  it('lists the columns that refer to the same table', () => {
    const [folders] = erasureOrder([{ table: 'folders', by: 'club' }], [reference('folders', 'parent_id', 'folders')]);
    expect(folders?.ownReferences).to.deep.equal(['parent_id']);
  });

  it('throws an error if tables refer to each other in a circle', () => {
    const rows: TableRows[] = [
      { table: 'a', by: 'club' },
      { table: 'b', by: 'club' },
    ];
    expect(() => rootsOf(rows, [reference('a', 'b_id', 'b'), reference('b', 'a_id', 'a')])).to.throw(
      'These tables refer to each other in a circle: a, b.',
    );
  });

  it('throws an error if the parent of a table has no answer', () => {
    expect(() => rootsOf([{ table: 'a', by: { parent: 'b', column: 'b_id' } }], [])).to.throw(
      'a is found by b, which has no answer.',
    );
  });
});
