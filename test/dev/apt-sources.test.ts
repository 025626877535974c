import { expect } from 'chai';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { debianArchives } from '../../dev/components/apt-sources.ts';

describe('debianArchives', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'apt-sources-'));
    await mkdir(path.join(directory, 'sources.list.d'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));
  const write = (name: string, text: string) => writeFile(path.join(directory, name), text);

  it('reads lines of sources.list, whether or not a line has options', async () => {
    await write(
      'sources.list',
      '# deb http://old.example.com/debian trixie main\ndeb [arch=amd64 signed-by=/k.gpg] http://one.example.com/debian/ trixie main\ndeb http://two.example.com/debian trixie main\ndeb-src http://three.example.com/debian trixie main\n',
    );
    expect(await debianArchives(directory)).to.deep.equal([
      'http://one.example.com/debian',
      'http://two.example.com/debian',
    ]);
  });

  it('reads entries whose values extend over several lines', async () => {
    await write(
      'sources.list.d/debian.sources',
      'Types: deb\nURIs: http://one.example.com/debian\n  https://two.example.com/debian\nSuites: trixie\n\nTypes: deb-src\nURIs: http://three.example.com/debian\n\nEnabled: no\nTypes: deb\nURIs: http://four.example.com/debian\n',
    );
    expect(await debianArchives(directory)).to.deep.equal([
      'http://one.example.com/debian',
      'https://two.example.com/debian',
    ]);
  });

  it('returns a snapshot of the Debian archive, but no other archives, other protocols or duplicates', async () => {
    const addresses = [
      'http://one.example.com/debian-security',
      'http://one.example.com/debian',
      'http://one.example.com/debian/',
      'https://other.example.com/apt',
      'file:///srv/debian',
      'https://snapshot.example.com/archive/debian/20230701T000000Z',
    ];
    await write('sources.list.d/a.list', addresses.map((address) => `deb ${address} trixie main\n`).join(''));
    await write('sources.list.d/b.list.disabled', 'deb http://two.example.com/debian trixie main\n');
    expect(await debianArchives(directory)).to.deep.equal([
      'http://one.example.com/debian',
      'https://snapshot.example.com/archive/debian/20230701T000000Z',
    ]);
  });

  it('returns nothing on a machine without apt', async () => {
    expect(await debianArchives(path.join(directory, 'none'))).to.deep.equal([]);
  });
});
