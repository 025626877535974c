import { expect } from 'chai';
import { answerUnmatched } from '../../api/middleware/unmatched.ts';
import { contractOperations } from '../../contract/contract.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

describe('the answer to a method that a path does not support', () => {
  /** @returns the header `Allow` */
  const allowed = async (operations: ReturnType<typeof contractOperations>, path: string) => {
    let allow = '';
    const context = { method: 'PROPFIND', path, set: (_: string, value: string) => (allow = value) };
    const error = await Promise.resolve(answerUnmatched(operations)(context as never, () => Promise.resolve())).catch(
      ({ code }: { code: string }) => code,
    );
    expect(error).to.equal('method_not_allowed');
    return allow;
  };

  it('lists the methods of the most specific path, for any order of paths in the contract', async () => {
    const [paths, operations] = [['/v1/clubs/by-slug/students', '/v1/clubs/a/media/storage'], contractOperations()];
    await eachCase(paths, async (path) =>
      eachCase([operations, operations.toReversed()], async (listed) =>
        expect(await allowed(listed, path)).to.equal('GET'),
      ),
    );
  });
});
