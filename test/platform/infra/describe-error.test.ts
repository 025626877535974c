import { expect } from 'chai';
import { describeError } from '../../../platform/infra/describe-error.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';

describe('describeError', () => {
  it('returns no message, SQL or parameter of a Postgres error', async () => {
    const source = await testDatabase();
    const error: unknown = await source
      .query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Secret Name', 'x', now())`, [
        'no-uuid-secret',
      ])
      .catch((reason: unknown) => reason);
    const described = describeError(error);
    expect(described).to.include({ name: 'QueryFailedError', code: '22P02' });
    expect(described.frames).to.have.length.within(1, 12);
    expect(JSON.stringify(described)).to.not.match(/Secret Name|no-uuid-secret|INSERT/);
  });

  it('shortens file paths to the part inside the project directory', () => {
    const { frames } = describeError(new Error('secret'));
    expect(frames[0]).to.match(/test\/platform\/infra\/describe-error\.test\.ts:\d+:\d+/);
    expect(frames.filter((frame) => frame.includes(process.cwd()))).to.deep.equal([]);
  });

  it('returns the code of a failed system call, but not the address in the message', () => {
    const error = Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:5432'), { code: 'ECONNREFUSED' });
    expect(describeError(error)).to.include({ name: 'Error', code: 'ECONNREFUSED' });
    expect(JSON.stringify(describeError(error))).to.not.include('10.1.2.3');
  });

  it('returns the code of the innermost cause', () => {
    const cause = Object.assign(new Error('secret'), { code: 'ENOTFOUND' });
    expect(describeError(new Error('secret', { cause: new Error('secret', { cause }) })).code).to.equal('ENOTFOUND');
    const refused = Object.assign(new Error('secret'), { code: 'EENVELOPE', responseCode: 451 });
    expect(describeError(refused).code).to.equal('EENVELOPE 451');
  });

  it('returns only the type of a thrown value that is not an error', () => {
    for (const thrown of ['a secret text', 42, null, undefined, { secret: 1 }]) {
      expect(describeError(thrown), JSON.stringify(thrown) ?? 'undefined').to.deep.equal({
        name: typeof thrown,
        frames: [],
      });
    }
  });
});
