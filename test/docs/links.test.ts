import { expect } from 'chai';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'test/README.md',
  'deploy/chart/README.md',
  ...globSync('docs/**/*.md', { cwd: projectDirectory }),
];
const placeOf = (file: string) => path.join(projectDirectory, file);
const withoutCode = (text: string) => text.replace(/^ *```[\s\S]*?^ *```/gm, '').replace(/`[^`\n]*`/g, 'code');

/** Returns anchors as GitHub writes them: lower case, hyphens for spaces, no other marks, and a number after a repeated anchor. */
function anchorsOf(file: string): Set<string> {
  const text = readFileSync(placeOf(file), 'utf8').replace(/^ *```[\s\S]*?^ *```/gm, '');
  const anchors = new Set<string>();
  for (const [, title = ''] of text.matchAll(/^#{1,6} +(.+)$/gm)) {
    const plain = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = plain.replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-');
    let unique = anchor;
    for (let nth = 1; anchors.has(unique); nth++) unique = `${anchor}-${nth}`;
    anchors.add(unique);
  }
  return anchors;
}

const known = new Map<string, Set<string>>();
function knownAnchorsOf(file: string): Set<string> {
  const anchors = known.get(file) ?? anchorsOf(file);
  known.set(file, anchors);
  return anchors;
}

function brokenLinks(file: string): string[] {
  const text = withoutCode(readFileSync(placeOf(file), 'utf8'));
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => {
      const [place = '', anchor] = decodeURI(target).split('#');
      const to = place === '' ? file : path.join(path.dirname(file), place);
      if (!existsSync(placeOf(to))) return true;
      return anchor !== undefined && to.endsWith('.md') && !knownAnchorsOf(to).has(anchor);
    })
    .map((target) => `${file}: ${target}`);
}

describe('links between pages', () => {
  it('point to existing files and headings', () => {
    expect(pages.length).to.be.above(30);
    expect(pages.flatMap(brokenLinks)).to.deep.equal([]);
  });

  it('lead from docs/README.md to every other page of docs, directly or through other pages', () => {
    const linked = new Set<string>();
    const follow = (file: string): void => {
      if (linked.has(file)) return;
      linked.add(file);
      const text = withoutCode(readFileSync(placeOf(file), 'utf8'));
      for (const [, target = ''] of text.matchAll(/\]\(([^)#\s]+\.md)[^)]*\)/g))
        if (!/^[a-z]+:/.test(target)) follow(path.join(path.dirname(file), target));
    };
    follow('docs/README.md');
    expect(pages.filter((page) => page.startsWith('docs/') && !linked.has(page))).to.deep.equal([]);
  });

  it('are unambiguous for decisions, because each decision has its own number', () => {
    const numbers = pages.flatMap((page) => /^docs\/adr\/(\d{4})-/.exec(page)?.[1] ?? []);
    expect(numbers.length).to.be.above(20);
    expect(numbers).to.deep.equal([...new Set(numbers)]);
  });
});
