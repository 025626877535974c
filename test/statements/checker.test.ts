/** Tests the check of declared rows with rows that are declared wrongly on purpose (fixtures/rows.ts). */
import { expect } from 'chai';
import { Database } from '../../platform/infra/postgres/database.ts';
import { observeStatements } from '../../platform/infra/postgres/observed-statements.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { checkRows } from './check.ts';
import { readDeclaredRows, type DeclaredRows } from './declared.ts';
import { createDescriber, type Describer } from './described.ts';
import { right, wrong } from './fixtures/rows.ts';
import { statementRecorder } from './recording.ts';
import type { RecordedStatement } from './records.ts';

const folder = 'test/statements/fixtures';
/** The compiler needs this time to read the fixture and the files that the fixture imports. */
const compilerMs = 120_000;

describe('the check of declared rows', () => {
  let db: Database;
  let declared: DeclaredRows;
  let describer: Describer;

  before('start the compiler and a session', async function () {
    this.timeout(compilerMs);
    db = new Database(await testDatabase(), { notify() {} });
    declared = readDeclaredRows([`${folder}/rows.ts`], [folder]);
    describer = await createDescriber((await testStack()).environment['DATABASE_URL'] ?? '');
  });
  after('end the session', () => describer.end());

  /** @returns the records of these statements */
  async function recorded(
    ...statements: readonly ((db: Database) => Promise<unknown>)[]
  ): Promise<RecordedStatement[]> {
    const records: RecordedStatement[] = [];
    const stop = observeStatements(
      statementRecorder((line) => records.push(JSON.parse(line) as RecordedStatement), [folder]),
    );
    try {
      for (const statement of statements) await statement(db);
    } finally {
      stop();
    }
    return records;
  }

  it('reports no difference for rows that are declared correctly', async () => {
    const checked = await checkRows(await recorded(...Object.values(right)), { declared, describer });
    expect(checked.wrong).to.deep.equal([]);
    expect(checked.rows).to.equal(8); // `run` declares no row, and the type `unknown` declares no columns
  });

  for (const [name, [statement, difference]] of Object.entries(wrong)) {
    it(`reports the difference of ${name}, and the position of the row`, async () => {
      const checked = await checkRows(await recorded(statement), { declared, describer });
      const isPlaced = (one: string) => /^test\/statements\/fixtures\/rows\.ts:\d+:\d+: /.test(one);
      expect(checked.wrong.map((one) => one.replace(/^\S+ /, ''))).to.include(difference);
      expect(checked.wrong.every(isPlaced)).to.equal(true);
    });
  }

  it('reports a statement that Postgres refuses', async () => {
    const [record] = await recorded(...Object.values(right).slice(0, 1));
    const broken = record ? [{ ...record, text: 'SELECT id FROM nowhere' }] : [];
    const { wrong: found } = await checkRows(broken, { declared, describer });
    expect(found.join()).to.contain('Postgres refuses it: relation "nowhere" does not exist');
  });

  it('lists declared rows without a recorded statement', async () => {
    const none = await checkRows([], { declared, describer });
    const some = await checkRows(await recorded(...Object.values(right)), { declared, describer });
    expect(none.unseen.length - some.unseen.length).to.equal(some.rows - 4); // `unseen` never lists the 4 rows of generic helpers
  });

  it('does not check statements of files that changed after the recording', async () => {
    const records = await recorded(...Object.values(wrong).map(([statement]) => statement));
    const checked = await checkRows(records, { declared, describer, isOutdated: () => true });
    expect([checked.wrong, checked.outdated]).to.deep.equal([[], records.length]);
  });

  it('reports a call that is no longer at its recorded position', async () => {
    const [record] = await recorded(...Object.values(right).slice(0, 1));
    const moved = record ? [{ ...record, calls: record.calls.map((call) => ({ ...call, line: 1 })) }] : [];
    const { wrong: found } = await checkRows(moved, { declared, describer });
    expect(found.join()).to.contain('there is no call');
  });
});
