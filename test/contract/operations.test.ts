/** The operations of the contract against OP-1 to OP-16, and against each other. */
import { expect } from 'chai';
import { contractOperations, type ContractOperation } from '../../contract/contract.ts';
import { contractDocument } from '../../contract/document.ts';
import { roles } from '../../entities/clubs/values.ts';
import { errorStatus } from '../../platform/core/error-codes.ts';

/** OP-1 to OP-15: number, method and path, auth. OP-8 has a sibling for sales platforms (SALE-1). */
const specified = `
  1  POST   /v1/clubs/{clubId}/classroom/agents/{publicId}/messages                 student  askAgent
  2  POST   /v1/auth/verify-email                                                   none     verifyStudentEmail
  3  GET    /v1/auth/session                                                        student  getSession
  4  POST   /v1/clubs/{clubId}/classroom/assignment-files                           student  reserveAssignmentFile
  5  GET    /v1/clubs/{clubId}/assignment-submissions                               admin    listAssignmentSubmissions
  6  GET    /v1/clubs/{clubId}/campaigns/{campaignId}/deliveries                    admin    listCampaignDeliveries
  7  GET    /v1/clubs/{clubId}/certificates                                         admin    listCertificates
  8  POST   /webhooks/billing                                                       none     receiveBillingNotice
  8  POST   /webhooks/{platform}/{token}                                            none     receiveSalesNotice
  9  GET    /v1/clubs/{clubId}/workflows/{workflowId}                               admin    getAutomation
  10 GET    /v1/clubs/{clubId}/repositories/{repositoryId}                          admin    getRepository
  11 DELETE /v1/clubs/{clubId}/classroom/community/spaces/{spaceId}/membership      student  leaveCommunitySpace
  12 POST   /v1/clubs/{clubId}/classroom/registration-links/{code}/claim            student  claimRegistrationLink
  13 GET    /v1/clubs/{clubId}/media/storage                                        admin    getStorageUsage
  14 GET    /v1/me                                                                  admin    getProfile
  15 POST   /v1/clubs/{clubId}/webhook-endpoints                                    admin    registerWebhookEndpoint`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/));

/** Paths and auth of OP-16. */
const referenced = `
  POST   /v1/auth/sign-in         none
  POST   /v1/auth/admin/sign-in   none
  DELETE /v1/auth/session         student,admin
  POST   /v1/clubs/{clubId}/classroom/agent-images    student
  POST   /v1/clubs/{clubId}/media/{mediaId}/complete  student,admin`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/));

const operations = contractOperations();

function authOf({ auth }: ContractOperation): string {
  return auth.length === 0 ? 'none' : auth.join(',');
}

function find(method: string, path: string): ContractOperation | undefined {
  return operations.find((operation) => operation.path === path && operation.method === method.toLowerCase());
}

describe('the contract', () => {
  it('declares version 0.2.0', () => {
    expect(contractDocument.info.version).to.equal('0.2.0');
  });

  for (const [number = '', method = '', path = '', auth, operationId] of specified) {
    it(`has operation ${number}: ${method} ${path}`, () => {
      const operation = find(method, path);
      expect(operation?.operationId).to.equal(operationId);
      expect(operation && authOf(operation)).to.equal(auth);
    });
  }

  for (const [method = '', path = '', auth] of referenced) {
    it(`has ${method} ${path} of OP-16`, () => {
      const operation = find(method, path);
      expect(operation && authOf(operation)).to.equal(auth);
    });
  }

  it('gives each operation an id, a method and a path of its own', () => {
    expect(new Set(operations.map((operation) => operation.operationId)).size).to.equal(operations.length);
    expect(new Set(operations.map((operation) => `${operation.method} ${operation.koaPath}`)).size).to.equal(
      operations.length,
    );
  });

  it('writes paths for the router with a colon', () => {
    expect(find('POST', '/webhooks/{platform}/{token}')?.koaPath).to.equal('/webhooks/:platform/:token');
    expect(find('POST', '/webhooks/{platform}/{token}')?.pathParameters).to.deep.equal(['platform', 'token']);
  });

  it('declares every parameter of a path, and no other', () => {
    for (const { operationId, parameters, pathParameters } of operations) {
      const declared = parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name);
      expect(declared, operationId).to.have.members(pathParameters);
    }
  });
});

describe('roles of the contract', () => {
  it('stand only where an administrator calls under a club, and are roles', () => {
    for (const { operationId, auth, pathParameters, roles: permitted } of operations) {
      if (!permitted) continue;
      expect(auth, operationId).to.include('admin');
      expect(pathParameters[0], operationId).to.equal('clubId');
      expect(roles, operationId).to.include.members([...permitted]);
    }
  });

  it('webhook endpoints, their deliveries and members are for owner and admin, reading too', () => {
    const guarded = operations.filter(({ path }) =>
      /^\/v1\/clubs\/\{clubId\}\/(webhook-endpoints|members|invitations)\b/.test(path),
    );
    expect(guarded).to.have.length(19);
    for (const { operationId, roles: permitted } of guarded)
      expect(permitted, operationId).to.deep.equal(['owner', 'admin']);
  });

  it('every write of an administrator under a club names its roles', () => {
    const writes = operations.filter(
      ({ auth, method, pathParameters }) =>
        auth.includes('admin') && method !== 'get' && pathParameters.includes('clubId'),
    );
    for (const { operationId, roles: permitted } of writes) expect(permitted, operationId).to.include('owner');
  });
});

describe('error codes', () => {
  const table = contractDocument.components.schemas.ErrorCode;

  it('the table of the contract and that of the service are the same', () => {
    const ofContract = Object.fromEntries(Object.entries(table['x-codes']).map(([code, { status }]) => [code, status]));
    expect(ofContract).to.deep.equal(errorStatus);
    expect(table['x-extensible-enum']).to.deep.equal(Object.keys(errorStatus));
  });

  it('the codes of ERR-15 to ERR-19 go with their statuses', () => {
    const codes: Readonly<Record<string, number>> = errorStatus;
    const ofRules = {
      feature_not_in_plan: 402,
      limit_reached: 402,
      payment_failed: 402,
      not_entitled: 403,
      message_exists: 409,
      generation_in_progress: 409,
      invalid_image: 422,
      daily_limit_reached: 429,
      club_budget_exhausted: 429,
      rate_limited: 429,
      not_configured: 501,
      rate_limit_unavailable: 503,
    };
    for (const [code, status] of Object.entries(ofRules)) expect(codes[code], code).to.equal(status);
  });

  it('an operation names only codes of the table', () => {
    for (const item of Object.values(contractDocument.paths)) {
      for (const method of ['get', 'post', 'put', 'patch', 'delete'] as const) {
        const operation = item[method];
        for (const code of operation?.['x-error-codes'] ?? [])
          expect(errorStatus, operation?.operationId).to.have.property(code);
      }
    }
  });

  it('an operation documents a response for the status of each of its codes, and for no other', () => {
    const byDefault = new Set([500, 501]);
    for (const { operationId, errorCodes, responses } of operations) {
      const ofItsOwn = errorCodes.filter((code) => code !== 'busy'); // every operation gives it, by default
      const needed = [...new Set(ofItsOwn.map((code) => errorStatus[code]))].filter((status) => !byDefault.has(status));
      const documented = Object.keys(responses)
        .map(Number)
        .filter((status) => status >= 400 && !byDefault.has(status));
      expect(documented, operationId).to.have.members(needed);
      expect(responses, operationId).to.have.property('default');
    }
  });

  it('asking an agent gives every code of AGT-6 to AGT-12', () => {
    const codes = find('POST', '/v1/clubs/{clubId}/classroom/agents/{publicId}/messages')?.errorCodes;
    expect(codes).to.include.members([
      'not_entitled',
      'message_exists',
      'generation_in_progress',
      'invalid_image',
      'daily_limit_reached',
      'club_budget_exhausted',
      'not_configured',
    ]);
  });

  it('declares rate_limit_unavailable for credential routes of the classroom, not for the session', () => {
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
    ]);
  });

  it('writes and open streams are limited, other reads are not', () => {
    for (const { operationId, method, errorCodes, contentTypes } of operations) {
      const isLimited = method !== 'get' || contentTypes.includes('text/event-stream');
      expect(errorCodes.includes('rate_limited'), operationId).to.equal(isLimited);
    }
  });

  it('every path under a club gives the same 403', () => {
    for (const { operationId, path, errorCodes } of operations) {
      expect(errorCodes.includes('forbidden'), operationId).to.equal(path.startsWith('/v1/clubs/{clubId}'));
    }
  });
});
