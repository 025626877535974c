import { expect } from 'chai';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type LocateOptions, locate } from '../../dev/components.ts';
import { type Component, components, type Source } from '../../dev/components/catalogue.ts';
import { runCommand } from '../../dev/stack/commands.ts';
import { problemOf } from '../toolkit/assert/problem-of.ts';

describe('dev/components', () => {
  let directory: string;
  const cacheOf = () => path.join(directory, 'cache', 'club-learning');
  const cached = () => path.join(cacheOf(), 'thing-1.2.3', 'thing');
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'components-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const executable = async (file: string, output = 'fine') => {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, `#!/bin/sh\necho ${output}\n`);
    await chmod(file, 0o755);
    return file;
  };
  const failing = (title: string, reason: string): Source => ({
    title,
    fetch: () => Promise.reject(new Error(reason)),
  });
  const working: Source = {
    title: 'a good place',
    fetch: async (into) => void (await executable(path.join(into, 'thing'))),
  };
  const component = (sources: readonly Source[], changes: Partial<Component> = {}): Component => ({
    title: 'The thing',
    executable: 'thing',
    version: '1.2.3',
    variable: 'THING_BINARY',
    sources,
    advice: ['build one'],
    flawOf: async () => undefined,
    check: async (file) => void (await runCommand(file, [])),
    ...changes,
  });
  const find = (thing: Component, { env, ...options }: LocateOptions = {}) =>
    locate(thing, {
      env: { XDG_CACHE_HOME: path.join(directory, 'cache'), PATH: path.join(directory, 'bin'), ...env },
      ...options,
    });

  describe('the search for a program', () => {
    it('uses the path in the variable of the component first', async () => {
      await executable(path.join(directory, 'bin', 'thing'));
      const own = await executable(path.join(directory, 'mine'));
      expect(await find(component([]), { env: { THING_BINARY: own } })).to.equal(own);
    });

    it('fails if the file of the variable is missing, even if the PATH has a program', async () => {
      await executable(path.join(directory, 'bin', 'thing'));
      const message = await problemOf(find(component([]), { env: { THING_BINARY: '/nowhere/thing' } }));
      expect(message).to.equal('THING_BINARY says /nowhere/thing, but there is no executable file.');
    });

    it('uses a program on the PATH before the cache', async () => {
      await executable(cached());
      const onPath = await executable(path.join(directory, 'bin', 'thing'));
      expect(await find(component([working]))).to.equal(onPath);
    });

    it('skips a program on the PATH with an unsuitable version', async () => {
      await executable(cached());
      await executable(path.join(directory, 'bin', 'thing'));
      expect(await find(component([], { flawOf: async () => 'too old' }))).to.equal(cached());
    });

    it('uses a later program on the PATH if an earlier program is too old or does not work', async () => {
      const at = (name: string) => path.join(directory, name, 'thing');
      await mkdir(path.dirname(at('linked')));
      await symlink('/there/is/none', at('linked'));
      for (const name of ['old', 'idle', 'right', 'next']) await executable(at(name));
      const lines: string[] = [];
      const thing = component([], {
        flawOf: async (file) => (file === at('old') ? 'is version 1; 2 or newer is needed' : undefined),
        check: (file) => (file === at('idle') ? Promise.reject(new Error('does not start')) : Promise.resolve()),
      });
      const PATH = ['linked', 'old', 'idle', 'right', 'next'].map((name) => path.join(directory, name)).join(':');
      const options = { env: { PATH }, report: (line: string) => void lines.push(line) };
      expect(await find(thing, options)).to.equal(at('right'));
      expect(lines).to.deep.equal([
        `The thing: ${at('linked')} is a link that leads to no file; it is skipped`,
        `The thing: ${at('old')} is version 1; 2 or newer is needed; it is skipped`,
        `The thing: ${at('idle')} does not work here: does not start; it is skipped`,
      ]);
    });

    it('searches the PATH for a name in the variable, and says why it refuses a program', async () => {
      const own = await executable(path.join(directory, 'bin', 'mine'));
      const env = { THING_BINARY: 'mine' };
      expect(await find(component([]), { env })).to.equal(own);
      const old = component([], { flawOf: async () => 'is version 1; 2 or newer is needed' });
      expect(await problemOf(find(old, { env }))).to.equal(
        `THING_BINARY says mine, but ${own} is version 1; 2 or newer is needed. Name another, or unset THING_BINARY.`,
      );
    });

    it('checks a program on the PATH only once', async () => {
      await executable(path.join(directory, 'bin', 'thing'));
      let looks = 0;
      const thing = component([], { flawOf: async () => void (looks += 1) });
      await Promise.all([find(thing), find(thing)]);
      await find(thing);
      expect(looks).to.equal(1);
    });

    it('uses the cache of the user, with one directory per version', async () => {
      await executable(cached());
      expect(await find(component([failing('x', 'this source must not be used')]))).to.equal(cached());
      expect(await find(component([working], { version: '1.2.4' }))).to.equal(
        path.join(cacheOf(), 'thing-1.2.4', 'thing'),
      );
    });

    it('tries the download sources in order, and caches the first that works', async () => {
      const lines: string[] = [];
      const report = (line: string) => void lines.push(line);
      expect(await find(component([failing('a bad place', 'closed'), working]), { report })).to.equal(cached());
      expect(lines).to.deep.equal([
        'The thing: trying a bad place …',
        'The thing: trying a good place …',
        `The thing: installed in ${path.dirname(cached())}`,
      ]);
    });
  });

  describe('an installation', () => {
    it('is deleted if it does not run, and the next source is tried', async () => {
      const broken: Source = {
        title: 'broken',
        fetch: (into) => writeFile(path.join(into, 'thing'), 'no program', { mode: 0o755 }),
      };
      const message = await problemOf(
        find(component([broken], { check: () => Promise.reject(new Error('does not run')) })),
      );
      expect(message).to.contain('broken: does not run');
      expect(await readdir(cacheOf())).to.deep.equal([]);
    });

    it('is removed by the next installation if its process was killed before the end', async () => {
      const dead = path.join(cacheOf(), '.unfinished-999999999-Xx12Yz');
      await mkdir(dead, { recursive: true });
      await find(component([working]));
      expect(await readdir(cacheOf())).to.deep.equal(['thing-1.2.3']);
    });

    it('succeeds while another process installs the same version, and both leave one directory', async () => {
      const slow: Source = {
        title: 'slow',
        async fetch(into) {
          await new Promise((resolve) => setTimeout(resolve, 50));
          await executable(path.join(into, 'thing'));
        },
      };
      const thing = component([slow]);
      expect(await Promise.all([find(thing), find(thing)])).to.deep.equal([cached(), cached()]);
      expect(await readdir(cacheOf())).to.deep.equal(['thing-1.2.3']);
    });

    it('replaces its directory if the directory lacks the executable', async () => {
      await mkdir(path.dirname(cached()), { recursive: true });
      await writeFile(path.join(path.dirname(cached()), 'rest'), '');
      expect(await find(component([working]))).to.equal(cached());
      expect(await runCommand(cached(), [])).to.equal('fine\n');
    });
  });

  it('lists all sources, their failures and the remedies if no source works', async () => {
    const message = await problemOf(find(component([failing('one place', 'closed'), failing('another', 'far')])));
    expect(message.split('\n')).to.deep.equal([
      'The thing (thing, version 1.2.3) could not be found or installed. Tried:',
      '  - thing on the PATH: not there',
      `  - ${cached()}: not installed yet`,
      '  - one place: closed',
      '  - another: far',
      'Do one of these:',
      '  - build one',
      '  - put thing on the PATH, or set THING_BINARY to its path',
    ]);
  });

  describe('a program on the PATH', () => {
    const flawOf = async (program: Component, script: string) => {
      const file = path.join(directory, 'program');
      await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return program.flawOf(file);
    };
    const says = (program: Component, words: string) => flawOf(program, `echo '${words}'`);

    it('is accepted if it is Redis 6.2 or Valkey', async () => {
      const { redis } = components;
      expect(await says(redis, 'Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64')).to.equal(
        undefined,
      );
      expect(await says(redis, 'Valkey server v=8.1.1 sha=00000000:0')).to.equal(undefined);
      expect(await says(redis, 'Redis server v=6.2.11 sha=00000000:0')).to.equal(undefined);
      expect(await says(redis, 'Redis server v=5.0.14 sha=00000000:0')).to.equal(
        'is version 5.0.14; 6.2 or newer is needed',
      );
    });

    it('is accepted if it is versitygw 1.8.0, or a versitygw that Go built without a version number', async () => {
      const { versitygw } = components;
      expect(await says(versitygw, 'Version  : v1.8.0\nBuild    : abc')).to.equal(undefined);
      expect(await says(versitygw, 'Version  : git\nBuild    : norev')).to.equal(undefined);
      expect(await says(versitygw, 'Version  : v1.0.9')).to.equal('is version 1.0.9; 1.8.0 or newer is needed');
    });

    it('is refused with a reason if it is another program, too old, broken or silent', async () => {
      const { temporal } = components;
      const needed = '1.29.0 or newer is needed';
      expect(await says(temporal, 'temporal version 0.10.7 (server 1.21.3) (ui 2.16.2)')).to.equal(
        `holds server 1.21.3; ${needed}`,
      );
      expect(await says(temporal, 'temporal, a calendar, 2.0')).to.equal(
        `does not print the version of its server, but "temporal, a calendar, 2.0"; ${needed}`,
      );
      expect(await flawOf(temporal, 'exit 0')).to.equal(
        `does not print the version of its server, but nothing; ${needed}`,
      );
      expect(await flawOf(temporal, 'echo no config >&2; exit 2')).to.equal(
        `ends with exit code 2: no config; ${needed}`,
      );
    });
  });

  describe('temporal on the PATH', () => {
    const flawOf = async (output: string) =>
      components.temporal.flawOf(await executable(path.join(directory, 'temporal'), `'${output}'`));

    it('is accepted from server version 1.29.0, which is the first version with fairness keys', async () => {
      expect(await flawOf('temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)')).to.equal(undefined);
      expect(await flawOf('temporal version 1.9.0 (Server 1.130.0, UI 2.50.0)')).to.equal(undefined);
      expect(await flawOf('temporal version 1.4.0 (Server 1.28.3, UI 2.40.0)')).to.equal(
        'holds server 1.28.3; 1.29.0 or newer is needed',
      );
    });
  });
});
