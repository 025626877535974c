/**
 * Loads the recorded release, and records how the open runs of the release end. This file is not a test: `npm run release` runs it with
 * mocha after record.ts.
 */
import { migrate } from '../../commands/migrate.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { readRelease, releaseKey, writeEnds } from './archive.ts';
import { loadDump } from './dump.ts';
import { useOpenRuns } from './open-runs.ts';

const version = process.env['RELEASE_VERSION'] ?? '';

describe('the open runs of the release', function () {
  this.timeout(120_000);
  before('the key of releases', async () => {
    await testStack();
    process.env['MASTER_KEY'] = releaseKey;
  });
  const openRuns = useOpenRuns();

  it('end', async () => {
    const release = readRelease(version);
    const source = await testDatabase();
    await loadDump(source, release.database);
    await migrate(source);
    writeEnds(version, await openRuns(release));
  });
});
