/** Compares the operations of the contract with each other. interface.test.ts tests the operations whose form is fixed (OP-1 to OP-16). */
import { expect } from 'chai';
import { contractOperations, type ContractOperation } from '../../contract/contract.ts';
import { contractDocument } from '../../contract/document.ts';
import { roles } from '../../entities/clubs/values.ts';
import { errorStatus } from '../../platform/core/error-codes.ts';

const operations = contractOperations();

function find(method: string, path: string): ContractOperation | undefined {
  return operations.find((operation) => operation.path === path && operation.method === method.toLowerCase());
}

describe('the contract', () => {
  it('gives each operation a unique id and a unique pair of method and path', () => {
    expect(new Set(operations.map((operation) => operation.operationId)).size).to.equal(operations.length);
    expect(new Set(operations.map((operation) => `${operation.method} ${operation.koaPath}`)).size).to.equal(
      operations.length,
    );
  });

  it('gives the router each path with parameters such as `:clubId`', () => {
    expect(find('POST', '/webhooks/{platform}/{token}')?.koaPath).to.equal('/webhooks/:platform/:token');
    expect(find('POST', '/webhooks/{platform}/{token}')?.pathParameters).to.deep.equal(['platform', 'token']);
  });

  it('declares every parameter of a path, and no other parameter', () => {
    for (const { operationId, parameters, pathParameters } of operations) {
      const declared = parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name);
      expect(declared, operationId).to.have.members(pathParameters);
    }
  });
});

describe('roles of the contract', () => {
  it('are valid, and are declared only for administrators on club paths', () => {
    for (const { operationId, auth, pathParameters, roles: permitted } of operations) {
      if (!permitted) continue;
      expect(auth, operationId).to.include('admin');
      expect(pathParameters[0], operationId).to.equal('clubId');
      expect(roles, operationId).to.include.members([...permitted]);
    }
  });

  it('are owner and admin for all operations on webhook endpoints, their deliveries and members', () => {
    const guarded = operations.filter(({ path }) =>
      /^\/v1\/clubs\/\{clubId\}\/(webhook-endpoints|members|invitations)\b/.test(path),
    );
    expect(guarded).to.have.length(19);
    for (const { operationId, roles: permitted } of guarded)
      expect(permitted, operationId).to.deep.equal(['owner', 'admin']);
  });

  it('are declared for every write of an administrator on a club path', () => {
    const writes = operations.filter(
      ({ auth, method, pathParameters }) =>
        auth.includes('admin') && method !== 'get' && pathParameters.includes('clubId'),
    );
    for (const { operationId, roles: permitted } of writes) {
      if (operationId === 'createStudentSessionLink') expect(permitted).to.deep.equal([]); // only for API keys (ENTRY-1)
      else expect(permitted, operationId).to.include('owner');
    }
  });
});

describe('error codes of the contract', () => {
  const table = contractDocument.components.schemas.ErrorCode;

  it('are equal in the tables of the contract and of the service', () => {
    const ofContract = Object.fromEntries(Object.entries(table['x-codes']).map(([code, { status }]) => [code, status]));
    expect(ofContract).to.deep.equal(errorStatus);
    expect(table['x-extensible-enum']).to.deep.equal(Object.keys(errorStatus));
  });

  it('are in the table if an operation declares them', () => {
    for (const item of Object.values(contractDocument.paths)) {
      for (const method of ['get', 'post', 'put', 'patch', 'delete'] as const) {
        const operation = item[method];
        for (const code of operation?.['x-error-codes'] ?? [])
          expect(errorStatus, operation?.operationId).to.have.property(code);
      }
    }
  });

  it('have exactly the statuses of the error responses that the operation documents', () => {
    for (const { operationId, errorCodes, responses } of operations) {
      const ofItsOwn = errorCodes.filter((code) => code !== 'internal_error' && code !== 'busy'); // by default
      const needed = [...new Set(ofItsOwn.map((code) => errorStatus[code]))];
      const documented = Object.keys(responses)
        .map(Number)
        .filter((status) => status >= 400);
      expect(documented, operationId).to.have.members(needed);
      expect(responses, operationId).to.have.property('default');
    }
  });

  it('include rate_limit_unavailable for the classroom’s credential routes, and for second factors', () => {
    const ids = operations
      .filter((operation) => operation.errorCodes.includes('rate_limit_unavailable'))
      .map((operation) => operation.path);
    expect(ids).to.have.members([
      '/v1/clubs/{clubId}/classroom/sign-up',
      '/v1/auth/sign-in',
      '/v1/auth/verify-email',
      '/v1/auth/verify-email/resend',
      '/v1/auth/password-reset',
      '/v1/auth/password-reset/confirm',
      '/v1/auth/code',
      '/v1/auth/code/exchange',
      '/v1/auth/password',
      '/v1/auth/session-links/exchange',
      '/v1/auth/passkeys/options',
      '/v1/auth/passkeys/sign-in',
      '/v1/auth/session/passkeys',
      '/v1/auth/session/passkeys/options',
      '/v1/auth/admin/second-factor',
      '/v1/me/proof',
    ]);
  });

  it('include rate_limited for writes, streams and large public reads, but for no other reads', () => {
    for (const { operationId, method, errorCodes, contentTypes } of operations) {
      const isLargeAndPublic = ['showCampaignPreview', 'getErasureProof'].includes(operationId); // LIM-29, ERS-32
      const isLimited = method !== 'get' || contentTypes.includes('text/event-stream') || isLargeAndPublic;
      expect(errorCodes.includes('rate_limited'), operationId).to.equal(isLimited);
    }
  });

  it('include forbidden exactly for the operations on a club path', () => {
    for (const { operationId, path, errorCodes } of operations) {
      expect(errorCodes.includes('forbidden'), operationId).to.equal(path.startsWith('/v1/clubs/{clubId}'));
    }
  });
});
