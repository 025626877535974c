import { expect } from 'chai';
import * as fc from 'fast-check';
import { closesFence } from '../../../platform/core/text/safe-markdown.policy.ts';

describe('the closing line of a fenced code block', () => {
  it('is found where a regular expression finds it', () => {
    const line = fc.string({ unit: fc.constantFrom('`', '~', '```', ' ', '\t', 'a'), maxLength: 8 });
    fc.assert(
      fc.property(fc.constantFrom('```', '````', '~~~'), line, (mark, read) => {
        const pattern = new RegExp(`^ {0,3}${mark}${mark[0]}* *$`);
        expect(closesFence(read, mark), JSON.stringify(read)).to.equal(pattern.test(read));
      }),
      { numRuns: 5_000 },
    );
  });
});
