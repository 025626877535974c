import { expect } from 'chai';
import { describeError } from '../../../domain/core/describe-error.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';

describe('describeError', () => {
  it('says kind, code, constraint and place of an error of Postgres; never its message, statement or parameters', async () => {
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

  it('frames tell the file from its folder on, never where the service is installed', () => {
    const { frames } = describeError(new Error('secret'));
    expect(frames[0]).to.match(/test\/domain\/core\/describe-error\.test\.ts:\d+:\d+/);
    for (const frame of frames) expect(frame).to.not.include(process.cwd());
  });

  it('says the code of a system call', () => {
    const error = Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:5432'), { code: 'ECONNREFUSED' });
    expect(describeError(error)).to.include({ name: 'Error', code: 'ECONNREFUSED' });
    expect(JSON.stringify(describeError(error))).to.not.include('10.1.2.3');
  });

  it('says the code of what caused it, and the reply of an SMTP server beside the client’s word', () => {
    const cause = Object.assign(new Error('secret'), { code: 'ENOTFOUND' });
    expect(describeError(new Error('secret', { cause: new Error('secret', { cause }) })).code).to.equal('ENOTFOUND');
    const refused = Object.assign(new Error('secret'), { code: 'EENVELOPE', responseCode: 451 });
    expect(describeError(refused).code).to.equal('EENVELOPE 451');
  });

  it('of what is no error it says the type alone', () => {
    for (const thrown of ['a secret text', 42, null, undefined, { secret: 1 }]) {
      expect(describeError(thrown)).to.deep.equal({ name: typeof thrown, frames: [] });
    }
  });
});
