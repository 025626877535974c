import { expect } from 'chai';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inWorkDirectory, removeAbandoned } from '../../../platform/infra/programs/work-directory.ts';

describe('a work directory', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'work-directory-'));
  });
  afterEach(() => rm(root, { recursive: true }));

  it('is removed after the work, even if the work fails', async () => {
    const entries = await inWorkDirectory(root, async (directory) => {
      await writeFile(path.join(directory, 'file'), 'x');
      return readdir(root);
    });
    expect(entries).to.have.length(1);
    const failed = inWorkDirectory(root, () => Promise.reject(new Error('a fault')));
    expect(await failed.catch((error: unknown) => String(error))).to.equal('Error: a fault');
    expect(await readdir(root)).to.deep.equal([]);
  });

  it('is removed if its process has ended', async () => {
    const dead = 4_194_305; // greater than the largest process id
    const remaining = [
      `club-learning-work-${process.ppid}-abc`,
      'club-learning-faults-x',
      'club-learning-7-x',
      'club-learning-work-x-7',
      'other',
    ];
    const abandoned = [`club-learning-work-${dead}-abc`, `club-learning-work-${process.pid}-abc`];
    for (const name of [...remaining, ...abandoned]) await mkdir(path.join(root, name));
    await removeAbandoned(root);
    expect((await readdir(root)).toSorted()).to.deep.equal(remaining.toSorted());
  });
});
