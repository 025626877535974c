import { expect } from 'chai';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type LocateOptions, locate } from '../../dev/components.ts';
import { type Component, components, type Source } from '../../dev/components/catalogue.ts';
import { runCommand } from '../../dev/commands.ts';
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

  describe('the order of places', () => {
    it('1. the variable with the path of the component', async () => {
      await executable(path.join(directory, 'bin', 'thing'));
      const own = await executable(path.join(directory, 'mine'));
      expect(await find(component([]), { env: { THING_BINARY: own } })).to.equal(own);
    });

    it('1. the variable: an error if its file is missing, although the PATH has one', async () => {
      await executable(path.join(directory, 'bin', 'thing'));
      const message = await problemOf(find(component([]), { env: { THING_BINARY: '/nowhere/thing' } }));
      expect(message).to.equal('THING_BINARY says /nowhere/thing, but there is no executable file.');
    });

    it('2. the PATH', async () => {
      await executable(cached());
      const onPath = await executable(path.join(directory, 'bin', 'thing'));
      expect(await find(component([working]))).to.equal(onPath);
    });

    it('2. the PATH, but not an unsuitable version', async () => {
      await executable(cached());
      await executable(path.join(directory, 'bin', 'thing'));
      expect(await find(component([], { flawOf: async () => 'too old' }))).to.equal(cached());
    });

    it('3. the user’s cache, with one directory per version', async () => {
      await executable(cached());
      expect(await find(component([failing('x', 'must not be asked')]))).to.equal(cached());
      expect(await find(component([working], { version: '1.2.4' }))).to.equal(
        path.join(cacheOf(), 'thing-1.2.4', 'thing'),
      );
    });

    it('4. the sources in order; the first that works fills the cache', async () => {
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
    it('that does not run is deleted, and the next source is tried', async () => {
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

    it('that was killed is removed by the next one', async () => {
      const dead = path.join(cacheOf(), '.unfinished-999999999-Xx12Yz');
      await mkdir(dead, { recursive: true });
      await find(component([working]));
      expect(await readdir(cacheOf())).to.deep.equal(['thing-1.2.3']);
    });

    it('at the same time as another succeeds, and leaves one directory', async () => {
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

    it('replaces a directory without its executable', async () => {
      await mkdir(path.dirname(cached()), { recursive: true });
      await writeFile(path.join(path.dirname(cached()), 'rest'), '');
      expect(await find(component([working]))).to.equal(cached());
      expect(await runCommand(cached(), [])).to.equal('fine\n');
    });
  });

  it('lists everything that was tried, why it failed and what to do when nothing works', async () => {
    const message = await problemOf(find(component([failing('one place', 'closed'), failing('another', 'far')])));
    expect(message.split('\n')).to.deep.equal([
      'The thing (thing, version 1.2.3) could not be found or installed. Tried:',
      '  - thing on the PATH: not there',
      `  - ${cached()}: not there yet`,
      '  - one place: closed',
      '  - another: far',
      'What you can do, any one of these:',
      '  - build one',
      '  - put thing on the PATH, or set THING_BINARY to where it is',
    ]);
  });

  describe('temporal on the PATH', () => {
    const flawOf = async (output: string) =>
      components.temporal.flawOf(await executable(path.join(directory, 'temporal'), `'${output}'`));

    it('is accepted from server 1.29.0, the first with fairness keys', async () => {
      expect(await flawOf('temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)')).to.equal(undefined);
      expect(await flawOf('temporal version 1.9.0 (Server 1.130.0, UI 2.50.0)')).to.equal(undefined);
      expect(await flawOf('temporal version 1.4.0 (Server 1.28.3, UI 2.40.0)')).to.equal(
        'holds server 1.28.3; 1.29.0 or newer is needed',
      );
    });
  });
});
