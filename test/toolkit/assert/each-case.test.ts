import { expect } from 'chai';
import { eachCase } from './each-case.ts';

describe('eachCase', () => {
  const failureOf = (cases: Iterable<unknown>, check: (one: never) => unknown) =>
    eachCase(cases as Iterable<never>, check).then(
      () => undefined,
      (error: unknown) => error as Error,
    );

  it('checks every case in order', async () => {
    const checkedCases: string[] = [];
    await eachCase(new Set(['a', 'b']), async (one) => checkedCases.push(one));
    expect(checkedCases).to.deep.equal(['a', 'b']);
  });

  it('puts the number and the value of the failed case before the message', async () => {
    const failed = await failureOf([{ url: 'a' }, { url: 'b' }], ({ url }: { url: string }) =>
      expect(url).to.equal('a'),
    );
    expect(failed?.message).to.equal(`case 2, { url: 'b' }: expected 'b' to equal 'a'`);
    expect(failed).to.include({ actual: 'b', expected: 'a' });
  });

  it('names the outer and the inner case of nested cases', async () => {
    const failed = await failureOf(['a'], () => eachCase([1, 2], (one) => expect(one).to.equal(1)));
    expect(failed?.message).to.equal(`case 1, 'a': case 2, 2: expected 2 to equal 1`);
  });

  it('waits for a check, and stops at the first failure', async () => {
    const checkedCases: number[] = [];
    const failed = await failureOf([1, 2, 3], async (one: number) => {
      await Promise.resolve();
      checkedCases.push(one);
      if (one === 2) throw new Error('no');
    });
    expect([failed?.message, checkedCases]).to.deep.equal(['case 2, 2: no', [1, 2]]);
  });

  it('shortens the name of a large case', async () => {
    const failed = await failureOf(['x'.repeat(10_000)], () => expect.fail('no'));
    expect(failed?.message.length).to.be.below(150);
  });
});
