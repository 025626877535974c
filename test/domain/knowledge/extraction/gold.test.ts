import { expect } from 'chai';
import { readGoldFile, readGoldSet, readKnownFaults, type Gold } from '../../../../bench/extraction/gold.ts';
import { judge, type Reading } from '../../../../bench/extraction/judge.ts';
import { readFile, readLesson } from '../../../../domain/knowledge/extraction/read-out.ts';
import { Unreadable } from '../../../../domain/knowledge/extraction/unreadable.ts';
import { cutPassages } from '../../../../domain/knowledge/indexing/passages.policy.ts';

const set = await readGoldSet();
const known = await readKnownFaults();

describe('the readers of the gold files', function () {
  this.timeout(60_000);

  for (const gold of set) {
    it(`reads ${gold.file} with its known faults alone`, async () => {
      const faults = judge(gold, await readHere(gold)).faults;
      const expected = known[gold.file] ?? [];
      // A fault that is gone must leave known-faults.json: gold/README.md says how.
      expect({
        new: faults.filter((fault) => !expected.includes(fault)),
        mended: expected.filter((fault) => !faults.includes(fault)),
      }).to.deep.equal({ new: [], mended: [] });
    });
  }

  it('knows no faults of files that are not in the set', () => {
    expect(Object.keys(known).filter((file) => !set.some((gold) => gold.file === file))).to.deep.equal([]);
  });
});

/** Reads a file without a thread of its own, which would take most of the time. The bench reads by threads, as the worker does. */
async function readHere(gold: Gold): Promise<Reading> {
  const bytes = await readGoldFile(gold);
  try {
    const out =
      gold.kind === 'lesson'
        ? await readLesson(Buffer.from(bytes).toString('utf8'))
        : await readFile(bytes, gold.says, { onPage() {} });
    const passages = [...cutPassages(out.sections, gold.language.startsWith('pt') ? 'pt' : 'en')];
    return { result: 'read', passages, warnings: out.warnings };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { result: 'unreadable', code: error.code };
  }
}
