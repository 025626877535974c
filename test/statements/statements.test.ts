/**
 * Tests that the code declares the rows of SQL statements as Postgres describes them. `npm test` runs this file last, and the file checks
 * the statements of all other test files. If the file runs alone, it checks the statements of the last complete run.
 */
import { expect } from 'chai';
import { testStack } from '../toolkit/stack/stack.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { checkRows, declaredRows, type CheckedRows } from './check.ts';
import { createDescriber } from './described.ts';
import { changedSince, readRecords, recordsFolder } from './records.ts';

/** The time limit is long, because the compiler reads the whole project. */
const checkMs = 600_000;

describe('rows of statements', () => {
  let checked: CheckedRows;

  before('compare the rows', async function () {
    this.timeout(checkMs);
    const records = readRecords(recordsFolder);
    if (records.length === 0) return this.skip(); // only a complete `npm test` makes records
    await testDatabase();
    const { environment } = await testStack();
    const describer = await createDescriber(environment['DATABASE_URL'] ?? '');
    const isOutdated = changedSince(recordsFolder);
    checked = await checkRows(records, { declared: declaredRows(), describer, isOutdated });
    await describer.end();
    const { statements, rows, unseen, outdated } = checked;
    process.stdout.write(
      `${rows} rows of ${statements} statements compared, ${unseen.length} rows not sent by a test\n`,
    );
    if (outdated > 0) process.stdout.write(`${outdated} statements left out: their files have changed since\n`);
  });

  it('are declared as Postgres describes them', () => {
    expect(checked.wrong.join('\n')).to.equal('');
  });
});
