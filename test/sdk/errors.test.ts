/** Tests the errors of the SDK (SDK-2), with the real API and with answers of others. */
import { expect } from 'chai';
import { ApiError, createClient, ErrorCode, isRefusal } from '../../sdk/src/index.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { testApi } from '../toolkit/drive/api.ts';
import { startScriptedServer } from '../toolkit/fakes/scripted-server.ts';

const refusalOf = async (call: Promise<unknown>): Promise<ApiError> => {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error('The call was not refused.', { cause: error });
  return error;
};

describe('errors of the SDK', () => {
  it('have the code, the message, the request id and the body of the answer', async () => {
    const club = await buildClub();
    const { token } = await buildApiKey(club.id, ['students:read']);
    const client = createClient({ baseUrl: `http://127.0.0.1:${(await testApi()).port}`, token });
    const studentId = '01980a5e-7c1d-7e55-9b2f-6d1fa3c04b7e';
    const error = await refusalOf(client.getStudent({ path: { clubId: club.id, studentId } }));
    expect(error).to.include({ name: 'ApiError', status: 404, code: 'not_found', operation: 'getStudent' });
    expect(error.requestId)
      .to.match(/^[\w-]{8,}$/)
      .and.equal(error.headers.get('x-request-id'));
    expect(error.body).to.deep.equal({ error: { code: 'not_found', message: error.message } });
    expect(isRefusal(error, 'not_found')).to.equal(true);
    expect(isRefusal(error, 'email_taken', ErrorCode.forbidden)).to.equal(false);
  });

  it('name the operation of a refused stream', async () => {
    const club = await buildClub();
    const client = createClient({ baseUrl: `http://127.0.0.1:${(await testApi()).port}`, token: 'x' });
    const path = { clubId: club.id, publicId: 'knots' };
    const stream = client.askAgent({ path, body: { id: '1b4e28ba-2fa1-4d3b-883f-0016d3cca427', content: 'Why?' } });
    const error = await refusalOf(stream.next());
    expect(error).to.include({ status: 401, code: 'unauthenticated', operation: 'askAgent' });
    expect(error.requestId).to.be.a('string');
  });

  it('have no code if another server answered', async () => {
    const html = { status: 404, headers: { 'content-type': 'text/html' }, body: '<h1>Nothing here</h1>' };
    const server = await startScriptedServer(() => html);
    try {
      const error = await refusalOf(createClient({ baseUrl: server.base }).getContract());
      expect(error.code).to.equal(undefined);
      expect(error).to.include({ body: '<h1>Nothing here</h1>', message: 'The service answered 404 without a code.' });
    } finally {
      await server.stop();
    }
  });

  it('keep a code that this version does not know', async () => {
    const server = await startScriptedServer(() => ({ status: 409, body: { error: { code: 'tide_too_low' } } }));
    try {
      const error = await refusalOf(createClient({ baseUrl: server.base }).getContract());
      expect(error).to.include({ code: 'tide_too_low', message: 'The service answered 409 tide_too_low.' });
    } finally {
      await server.stop();
    }
  });
});
