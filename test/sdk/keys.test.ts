/** Tests the idempotency keys of the SDK with the real API over a line that loses answers (SDK-3). */
import { expect } from 'chai';
import { createClient, isRefusal } from '../../sdk/src/index.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { testApi } from '../toolkit/drive/api.ts';
import { startHttpLine, type HttpLine } from '../toolkit/fakes/http-line.ts';

describe('a POST of the SDK with a lost answer', () => {
  let line: HttpLine;
  beforeEach(async () => {
    line = await startHttpLine((await testApi()).port);
  });
  afterEach(() => line.stop());

  const open = async () => {
    const club = await buildClub();
    const { token } = await buildApiKey(club.id, ['students:read', 'students:write']);
    return { path: { clubId: club.id }, client: createClient({ baseUrl: line.base, token }) };
  };
  const body = { name: 'Ada', email: 'ada@example.com' };

  it('has one effect, and returns the first answer', async () => {
    const { path, client } = await open();
    line.loseNextAnswer();
    const { data, response } = await client.createStudent({ path, body }, { envelope: true });
    expect(response.headers.get('idempotent-replayed')).to.equal('true');
    const students = await client.listStudents({ path });
    expect(students.data.map(({ id }) => id)).to.deep.equal([data.data.id]);
    expect(line.requests.map((request) => request.split(' ')[0])).to.deep.equal(['POST', 'POST', 'GET']);
  });

  it('is refused if the caller gives its key to another request', async () => {
    const { path, client } = await open();
    const key = { idempotencyKey: 'crm-4711' };
    await client.createStudent({ path, body }, key);
    const failure: unknown = await client
      .createStudent({ path, body: { ...body, name: 'Ben' } }, key)
      .catch((error: unknown) => error);
    expect(isRefusal(failure, 'idempotency_key_reused')).to.equal(true);
  });
});
