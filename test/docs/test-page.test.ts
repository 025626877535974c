/** Tests that the examples in test/README.md are excerpts of the tests that the page names. */
import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const page = read('test/README.md');
const examples = [...page.matchAll(/^`([^`]+\.ts)`:\n\n```ts\n([\s\S]*?)^```$/gm)].map(([, file = '', code = '']) => ({
  file,
  code,
}));

describe('test/README.md', () => {
  it('has an example for each kind of test', () => {
    const kinds = [...page.matchAll(/^### (.+)$/gm)].map(([, kind]) => kind);
    expect(examples).to.have.length(kinds.length);
    expect([...page.matchAll(/^```ts$/gm)]).to.have.length(kinds.length);
  });

  for (const { file, code } of examples) {
    it(`quotes ${file} unchanged`, () => {
      expect(read(file)).to.contain(code);
    });
  }

  it('names only existing files and folders', () => {
    const named = [...page.matchAll(/`(test\/[\w./-]*\w[/]?)`/g)].map(([, name = '']) => name);
    expect(named).to.include('test/toolkit/');
    expect(named.filter((name) => !existsSync(new URL(`../../${name}`, import.meta.url)))).to.deep.equal([]);
  });
});
