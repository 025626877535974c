/** Tests rows that are longer than one read of the file. */
import { expect } from 'chai';
import { studentsOf } from '../../../toolkit/assert/students.ts';
import { buildClub, type TestClub } from '../../../toolkit/builders/clubs.ts';
import { importFile, shortReport, storedOf } from '../../../toolkit/drive/imports.ts';

const header = 'email,name,note\n';
const first = 'first@example.com,First,\n';
const victim = 'victim@example.com,Victim,\n';
const last = 'last@example.com,Last,\n';

describe('an import of students', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  const emails = async () => (await studentsOf(club)).map(({ email }) => email);

  describe('with a very long row', () => {
    const quoted = {
      'a row with many quoted lines': `real@example.com,Real,"${victim.repeat(6_000)}"\n`,
      'a row with a long first line inside the quotes': `real@example.com,Real,"${'x'.repeat(140_000)}\n${victim}"\n`,
      'a row with a quote near the end of a long line': `real@example.com,Real ${'x'.repeat(140_000)},"\n${victim}"\n`,
      'a row with a quote near the end of a line that needs several reads': `real@example.com,Real ${'x'.repeat(400_000)},"\n${victim}"\n`,
    };
    for (const [what, row] of Object.entries(quoted)) {
      it(`fails with row_too_long, and imports no later line: ${what}`, async () => {
        const record = await importFile(club, header + first + row + last);
        expect(record).to.include({ status: 'failed', error: 'row_too_long', created: 1, failed: 1, rows_done: 2 });
        expect(await shortReport(club, record.id)).to.deep.equal(['2 created', '3 failed row_too_long']);
        expect(await emails()).to.deep.equal(['first@example.com']);
        expect(await storedOf(club)).to.deep.equal([]);
      });
    }

    it('fails if the quoted row reaches the end of the file', async () => {
      const record = await importFile(club, header + first + quoted['a row with many quoted lines']);
      expect(record).to.include({ status: 'failed', error: 'row_too_long', created: 1, failed: 1 });
      expect(await emails()).to.deep.equal(['first@example.com']);
    });

    it('fails only this row if the row has no quotes', async () => {
      const record = await importFile(club, `${header}${first}real@example.com,${'x'.repeat(300_000)},\n${last}`);
      expect(record).to.include({ status: 'completed', created: 2, failed: 1 });
      expect(await shortReport(club, record.id)).to.deep.equal(['2 created', '3 failed row_too_long', '4 created']);
    });

    it('accepts a quoted row of 122 KB', async () => {
      const record = await importFile(club, `${header}real@example.com,Real,"${victim.repeat(4_500)}"\n${last}`);
      expect(record).to.include({ status: 'completed', created: 2, failed: 0 });
      expect(await emails()).to.deep.equal(['last@example.com', 'real@example.com']);
    });
  });
});
