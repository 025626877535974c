/** The typed client for the contract's operations. */
import { expect } from 'chai';
import { createContractClient } from '../../dev/clients/contract-client.ts';

/** Returns a client, and the list of the requests that it sends. Each request gets an answer with this status and body. */
function clientWith(status: number, body: object) {
  const requests: Request[] = [];
  const client = createContractClient('http://club.test', 'adm_token', {
    fetch: (request) => {
      requests.push(request);
      return Promise.resolve(Response.json(body, { status }));
    },
  });
  return { client, requests };
}

const studentPath = '/v1/clubs/{clubId}/students/{studentId}';
const params = { path: { clubId: 'a', studentId: 'b/c' } };

describe('the contract client', () => {
  it('sends the session token and the escaped path', async () => {
    const { client, requests } = clientWith(200, { data: {} });
    await client.GET(studentPath, { params });
    expect(requests[0]?.url).to.equal('http://club.test/v1/clubs/a/students/b%2Fc');
    expect(requests[0]?.headers.get('authorization')).to.equal('Bearer adm_token');
  });

  it('gives the data of an answer the type that the contract declares for the operation', async () => {
    const { client } = clientWith(200, { data: { email: 'ada@club.test' } });
    const { data } = await client.GET(studentPath, { params });
    const email: string | undefined = data?.data.email;
    // @ts-expect-error a student has no slug
    const slug: unknown = data?.data.slug;
    expect([email, slug]).to.deep.equal(['ada@club.test', undefined]);
  });

  it('throws errors with the code and message of the error envelope', async () => {
    const { client } = clientWith(404, { error: { code: 'not_found', message: 'No such student.' } });
    const { data, error } = await client.GET(studentPath, { params });
    const code: 'not_found' | undefined = error?.error.code === 'not_found' ? error.error.code : undefined;
    // @ts-expect-error no error has this code
    const isUnknown = error?.error.code === 'not_fond';
    expect([data, code, isUnknown]).to.deep.equal([undefined, 'not_found', false]);
  });

  it('requires the path parameters and the fields of the body', () => {
    const { client } = clientWith(200, {});
    const calls = [
      // @ts-expect-error the path lacks the student's id
      () => client.GET(studentPath, { params: { path: { clubId: 'a' } } }),
      // @ts-expect-error the body of a sign-in lacks the password
      () => client.POST('/v1/auth/sign-in', { body: { club_id: '', email: '' } }),
    ];
    expect(calls).to.have.length(2);
  });
});
