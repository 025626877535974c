/** Tests the headers and the metric of deprecated operations (VER-6). No operation is deprecated today, so the test starts an API whose contract deprecates some. */
import { expect } from 'chai';
import { deprecatedRequests } from '../../api/metrics.ts';
import { contractOperations, type ContractOperation, type Deprecation } from '../../contract/contract.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { callAt, type Answer, type Call } from '../toolkit/drive/api.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';

const deprecation: Deprecation = { since: '2027-01-31', sunset: '2027-07-31', successor: 'getClub' };
const ofParameter: Deprecation = { ...deprecation, sunset: '2028-01-01', link: 'https://club.example/sunset' };

/** The contract with a deprecated read, a deprecated write, and a deprecated parameter of a third operation. */
const marked: readonly ContractOperation[] = contractOperations().map((operation) => {
  if (operation.operationId === 'listTags' || operation.operationId === 'createTag')
    return { ...operation, deprecation };
  if (operation.operationId !== 'listStudents') return operation;
  const parameters = operation.parameters.map((one) =>
    one.name === 'verified' ? { ...one, deprecation: ofParameter } : one,
  );
  return { ...operation, parameters };
});

const announced = {
  deprecation: '@1801353600', // 2027-01-31T00:00:00Z
  sunset: 'Sat, 31 Jul 2027 00:00:00 GMT',
};

const headersOf = ({ headers }: Answer) => ({
  deprecation: headers.get('deprecation'),
  sunset: headers.get('sunset'),
  link: headers.get('link'),
});
const none = { deprecation: null, sunset: null, link: null };

describe('a deprecated operation', () => {
  let app: ServedApp;
  let club: TestClub;
  let reference = '';
  before(async () => {
    app = await serveApp({
      contract: marked,
      deps(usual) {
        reference = `<${usual.deps.publicUrl}/docs>; rel="deprecation"; type="text/html"`;
        return usual;
      },
    });
    club = await buildClub();
  });
  after(() => app.close());
  beforeEach(() => deprecatedRequests.reset());

  const ask = (method: string, path: string, options: Call = {}) =>
    callAt(app.base, method, `/v1/clubs/${club.id}${path}`, { token: club.owner.token, ...options });

  it('announces its days in the headers of a success', async () => {
    const answer = await ask('GET', '/tags');
    expect(answer.status).to.equal(200);
    expect(headersOf(answer)).to.deep.equal({ ...announced, link: reference });
  });

  it('announces its days in the headers of errors', async () => {
    const answers = [
      await ask('GET', '/tags', { token: undefined }),
      await ask('GET', '/tags?page=none'),
      await ask('POST', '/tags', { raw: '{' }),
      await ask('POST', '/tags', { body: { name: '' } }),
      await callAt(app.base, 'GET', `/v1/clubs/${(await buildClub()).id}/tags`, { token: club.owner.token }),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([401, 400, 400, 422, 403]);
    for (const answer of answers) expect(headersOf(answer)).to.deep.equal({ ...announced, link: reference });
  });

  it('announces its days in the answer to a repeated request', async () => {
    const headers = { 'idempotency-key': 'knots' };
    await ask('POST', '/tags', { body: { name: 'Knots' }, headers });
    const again = await ask('POST', '/tags', { body: { name: 'Knots' }, headers });
    expect(again.headers.get('idempotent-replayed')).to.equal('true');
    expect(headersOf(again)).to.deep.equal({ ...announced, link: reference });
  });

  it('announces a deprecated parameter if the request has the parameter', async () => {
    expect(headersOf(await ask('GET', '/students'))).to.deep.equal(none);
    expect(headersOf(await ask('GET', '/students?verified=true'))).to.deep.equal({
      deprecation: announced.deprecation,
      sunset: 'Sat, 01 Jan 2028 00:00:00 GMT',
      link: '<https://club.example/sunset>; rel="deprecation"; type="text/html"',
    });
  });

  it('leaves the answers of all other operations without these headers', async () => {
    expect(headersOf(await ask('GET', '/courses'))).to.deep.equal(none);
  });

  it('shows the headers to pages of the listed origins', async () => {
    const { headers } = await ask('GET', '/tags', { headers: { origin: 'https://dashboard.example.com' } });
    const exposed = headers.get('access-control-expose-headers')?.split(',');
    expect(exposed).to.include.members(['Deprecation', 'Link', 'Sunset']);
  });

  it('counts its requests by operation and kind of caller', async () => {
    const { token } = await buildApiKey(club.id, ['tags:read']);
    await ask('GET', '/tags', { token });
    await ask('GET', '/tags');
    await ask('GET', '/tags', { token: undefined });
    await ask('GET', '/students');
    await ask('GET', '/students?verified=true');
    const { values } = await deprecatedRequests.get();
    expect(values.map(({ labels, value }) => [labels['operation'], labels['caller'], value])).to.deep.equal([
      ['listTags', 'key', 1],
      ['listTags', 'admin', 1],
      ['listTags', 'none', 1],
      ['listStudents', 'admin', 1],
    ]);
  });
});
