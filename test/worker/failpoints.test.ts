import { expect } from 'chai';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';

const read = (file: string) => readFileSync(path.join(projectDirectory, file), 'utf8');
const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);

describe('the list of failpoints', () => {
  it('contains every failpoint of the code, and no other', () => {
    const list = 'worker/failpoints.ts';
    const files = globSync('{activities,domain,worker}/**/*.ts', { cwd: projectDirectory });
    const code = files.filter((file) => file !== list).map(read);
    const passed = code.flatMap((text) => namesIn(text, /\bfailpoint(?:\?\.)?\('(\w+)'\)/g));
    const typed = code
      .flatMap((text) => namesIn(text, /\b(?:failpoint: \(name: |Failpoint = )('\w+'(?: \| '\w+')*)/g))
      .flatMap((union) => namesIn(union, /'(\w+)'/g));
    const listed = namesIn(read(list), /`([a-z_]+)`/g);
    expect(listed).to.have.members([...new Set([...passed, ...typed])]);
  });
});
