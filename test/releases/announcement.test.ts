import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { projectDirectory } from '../../dev/project.ts';
import { announcement } from './announcement.ts';
import { recordedVersions } from './archive.ts';

const manifest = '{\n  "name": "club",\n  "version": "1.2.3",\n  "dependencies": { "other": "1.2.3" }\n}\n';
const lock =
  '{\n  "name": "club",\n  "version": "1.2.3",\n  "packages": {\n    "": {\n      "version": "1.2.3"\n    },\n    "node_modules/other": {\n      "version": "1.2.3"\n    }\n  }\n}\n';
const chart = 'apiVersion: v2\nversion: 1.2.3\nappVersion: 1.2.3\nkubeVersion: ">=1.2.3"\n';
const changelog = '# Changelog\n\n## Unreleased\n\n- A line.\n\n## 1.2.3 (2026-01-02)\n\n- An older line.\n';

describe('the file changes of a release', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'club-learning-announcement-'));
    write('package.json', manifest);
    write('package-lock.json', lock);
    write('CHANGELOG.md', changelog);
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  function write(file: string, text: string): void {
    mkdirSync(path.join(directory, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(directory, file), text);
  }

  it('write the new version into every file that contains the version, and nothing else', () => {
    write('deploy/chart/Chart.yaml', chart);
    write('sdk/package.json', manifest);
    expect(announcement(directory, '1.10.0', '2026-11-26')).to.deep.equal([
      {
        file: 'CHANGELOG.md',
        text: '# Changelog\n\n## Unreleased\n\n## 1.10.0 (2026-11-26)\n\n- A line.\n\n## 1.2.3 (2026-01-02)\n\n- An older line.\n',
      },
      { file: 'package.json', text: manifest.replace('"version": "1.2.3"', '"version": "1.10.0"') },
      {
        file: 'package-lock.json',
        text: '{\n  "name": "club",\n  "version": "1.10.0",\n  "packages": {\n    "": {\n      "version": "1.10.0"\n    },\n    "node_modules/other": {\n      "version": "1.2.3"\n    }\n  }\n}\n',
      },
      { file: 'sdk/package.json', text: manifest.replace('"version": "1.2.3"', '"version": "1.10.0"') },
      {
        file: 'deploy/chart/Chart.yaml',
        text: 'apiVersion: v2\nversion: 1.10.0\nappVersion: 1.10.0\nkubeVersion: ">=1.2.3"\n',
      },
    ]);
  });

  it('include neither a chart nor an SDK if the checkout has none', () => {
    const files = announcement(directory, '1.2.4', '2026-11-26').map(({ file }) => file);
    expect(files).to.deep.equal(['CHANGELOG.md', 'package.json', 'package-lock.json']);
  });

  it('can keep the version that package.json already has', () => {
    const [, own] = announcement(directory, '1.2.3', '2026-11-26');
    expect(own).to.deep.equal({ file: 'package.json', text: manifest });
  });

  it('are possible if the changelog begins with the unreleased entries', () => {
    write('CHANGELOG.md', '## Unreleased\n\n- A line.\n');
    const [text] = announcement(directory, '1.2.4', '2026-11-26');
    expect(text).to.deep.equal({
      file: 'CHANGELOG.md',
      text: '## Unreleased\n\n## 1.2.4 (2026-11-26)\n\n- A line.\n',
    });
  });

  const refusals: Readonly<Record<string, { file: string; text: string; version?: string; message: string }>> = {
    'an older version': {
      file: 'package.json',
      text: manifest,
      version: '1.2.2',
      message: 'package.json has version 1.2.3: a release has this version, or a later one.',
    },
    'a changelog without unreleased entries': {
      file: 'CHANGELOG.md',
      text: '# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-01-02)\n\n- An older line.\n',
      message: 'CHANGELOG.md has nothing below “## Unreleased”',
    },
    'a changelog without the heading of unreleased entries': {
      file: 'CHANGELOG.md',
      text: '# Changelog\n',
      message: 'CHANGELOG.md has no heading “## Unreleased”.',
    },
    'an SDK without a version': {
      file: 'sdk/package.json',
      text: '{}\n',
      message: 'sdk/package.json must have a line with its version.',
    },
    'a chart without a version': {
      file: 'deploy/chart/Chart.yaml',
      text: 'appVersion: 1.2.3\n',
      message: 'deploy/chart/Chart.yaml must have a line “version: …” and a line “appVersion: …”.',
    },
    'a lock file that does not contain the project': {
      file: 'package-lock.json',
      text: '{ "version": "1.2.3", "packages": {} }',
      message: 'package-lock.json does not name the project: run npm install.',
    },
  };
  for (const [what, { file, text, version = '1.2.4', message }] of Object.entries(refusals))
    it(`are refused for ${what}`, () => {
      write(file, text);
      expect(() => announcement(directory, version, '2026-11-26')).to.throw(message);
    });

  it('keep the format of each file, which npm and the formatter wrote', () => {
    for (const file of ['package.json', 'package-lock.json', 'CHANGELOG.md'])
      cpSync(path.join(projectDirectory, file), path.join(directory, file));
    write('CHANGELOG.md', changelog);
    const { version } = JSON.parse(readFileSync(path.join(projectDirectory, 'package.json'), 'utf8')) as {
      version: string;
    };
    for (const { file, text } of announcement(directory, version, '2026-11-26').slice(1))
      expect(text, file).to.equal(readFileSync(path.join(projectDirectory, file), 'utf8'));
  });

  it('have given the changelog a section for each recorded release', () => {
    const text = readFileSync(path.join(projectDirectory, 'CHANGELOG.md'), 'utf8');
    const sections = [...text.matchAll(/^## (\d\S*) \(\d{4}-\d\d-\d\d\)$/gm)].map(([, version]) => version);
    expect(sections.toReversed()).to.deep.equal(recordedVersions());
  });
});
