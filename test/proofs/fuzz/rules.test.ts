import { expect } from 'chai';
import type { OperationId } from '../../../contract/contract.ts';
import { type Answer } from '../../toolkit/drive/api.ts';
import { Pool } from './requests/pool.ts';
import type { RequestStep } from './requests/step.ts';
import { brokenRules } from './rules.ts';
import type { Caller } from './world/callers.ts';
import type { Exchange } from './world/world.ts';

const clubs = {
  own: { clubId: 'a0000000-0000-4000-8000-000000000000', canary: 'canaryown' },
  other: { clubId: 'b0000000-0000-4000-8000-000000000000', canary: 'canaryother' },
};
const owner: Caller = { token: 't', kind: 'admin', id: 'o', club: 'own', role: 'owner' };
const support: Caller = { ...owner, role: 'support' };
const foreignCourse = 'c0000000-0000-4000-8000-000000000000';
const deletedCourse = 'd0000000-0000-4000-8000-000000000000';
const usual = {
  'x-request-id': 'request-1',
  'x-content-type-options': 'nosniff',
  'content-type': 'application/json; charset=utf-8',
};

function poolOfBoth(): Pool {
  const pool = new Pool();
  pool.add({ kind: 'course', template: '{{other.course}}', value: foreignCourse, club: 'other' });
  pool.add({ kind: 'course', template: '{{own.course}}', value: deletedCourse, club: 'own' });
  pool.remove(deletedCourse);
  return pool;
}

interface GivenAnswer {
  caller?: Caller;
  status: number;
  body?: object;
  headers?: Record<string, string>;
  step?: Partial<RequestStep>;
  errors?: string[];
}

function brokenBy({
  caller = owner,
  status,
  body = {},
  headers = usual,
  step = {},
  errors = [],
}: GivenAnswer): string[] {
  const text = JSON.stringify(body);
  const answer: Answer = { status, body, text, bytes: Buffer.from(text), headers: new Headers(headers) };
  const sentStep: RequestStep = { name: 's1', operation: 'listCourses', caller: 'owner', path: {}, ...step };
  const path = { clubId: clubs.own.clubId, ...sentStep.path };
  const exchange: Exchange = {
    step: sentStep,
    resolvedStep: { ...sentStep, path },
    caller,
    method: 'GET',
    path: '/',
    hasRival: false,
    answer,
    errors,
  };
  return brokenRules(exchange, clubs, poolOfBoth()).map(({ rule }) => rule);
}

const error = (code: string) => ({ error: { code, message: 'No.' } });
const page = { data: [], total: 0 };

describe('test/proofs/fuzz/rules', () => {
  it('accepts a usual answer', () => {
    expect(brokenBy({ status: 200, body: page })).to.deep.equal([]);
  });

  it('reports a fault of the service: a 500, an undeclared 501, and an error in the log', () => {
    const rule = 'answers with no fault of the service';
    expect(brokenBy({ status: 500, body: error('internal_error') })).to.deep.equal([rule]);
    expect(brokenBy({ status: 501, body: error('not_configured') })).to.deep.equal([rule]);
    expect(brokenBy({ status: 200, body: page, errors: ['a line'] })).to.deep.equal([rule]);
  });

  it('reports a success for a caller without a session, from another club, or without permission', () => {
    const rule = ['answers as session, key, club, role and scope demand'];
    const updates = { operation: 'updateClub', body: { name: 'x' } } as const;
    expect(brokenBy({ caller: {}, status: 200, body: page })).to.deep.equal(rule);
    expect(brokenBy({ caller: { ...owner, club: 'other' }, status: 200, body: page })).to.deep.equal(rule);
    expect(brokenBy({ caller: support, status: 200, step: updates })).to.deep.equal(rule);
    expect(brokenBy({ status: 403, body: error('forbidden') })).to.deep.equal(rule);
  });

  it('reports a success for an API key without the scope, of another club, or on a closed operation', () => {
    const rule = ['answers as session, key, club, role and scope demand'];
    const key: Caller = { token: 'k', kind: 'key', club: 'own', scopes: ['courses:read'] };
    const updates = { operation: 'updateCourse', path: { courseId: deletedCourse } } as const;
    expect(brokenBy({ caller: key, status: 200, body: page })).to.deep.equal([]);
    expect(brokenBy({ caller: key, status: 403, body: error('scope_not_granted'), step: updates })).to.deep.equal([]);
    expect(brokenBy({ caller: key, status: 404, body: error('not_found'), step: updates })).to.include(rule[0]);
    expect(brokenBy({ caller: { ...key, club: 'other' }, status: 200, body: page })).to.deep.equal(rule);
    expect(brokenBy({ caller: key, status: 200, body: page, step: { operation: 'listMembers' } })).to.include(rule[0]);
  });

  it('accepts an HTML page that refuses a request with a status and without an error code', () => {
    const html = { ...usual, 'content-type': 'text/html; charset=utf-8' };
    const step = { operation: 'getMailPreference', path: { clubId: 'nobody', token: 't' } } as const;
    const rule = 'answers as session, key, club, role and scope demand';
    expect(brokenBy({ status: 403, step, headers: html })).to.not.include(rule);
    expect(brokenBy({ status: 404, step, headers: html })).to.include(rule);
    expect(brokenBy({ status: 403, step })).to.include(rule);
  });

  it('reports a faulty request that is accepted, or that is refused with another code', () => {
    const rule = ['refuses what the contract does not allow'];
    const step = { fault: { what: 'page is 0', code: 'invalid_request' } } as const;
    expect(brokenBy({ status: 200, body: page, step })).to.deep.equal(rule);
    expect(brokenBy({ status: 400, body: error('malformed_request'), step })).to.deep.equal(rule);
    expect(brokenBy({ status: 422, body: error('invalid_request'), step })).to.deep.equal([]);
  });

  it('accepts a faulty request that needs a fresh factor first, only for operations with a fresh factor', () => {
    const step = { fault: { what: 'the name is a number', code: 'malformed_request' } } as const;
    const refuses = (operation: OperationId) =>
      brokenBy({ status: 403, body: error('fresh_factor_required'), step: { ...step, operation } });
    expect(refuses('setSignInRules')).to.deep.equal([]);
    expect(refuses('createCourse')).to.deep.equal(['refuses what the contract does not allow']);
  });

  it('reports a valid request that the service refuses as unreadable', () => {
    expect(brokenBy({ status: 400, body: error('malformed_request') })).to.deep.equal([
      'reads what the contract allows',
    ]);
  });

  it('reports a success that names a foreign record or a deleted record', () => {
    const reads = (courseId: string) => ({ operation: 'getCourse', path: { courseId } }) as const;
    expect(brokenBy({ status: 200, step: reads(foreignCourse) })).to.deep.equal(['finds no record of another club']);
    expect(brokenBy({ status: 200, step: reads(deletedCourse.toUpperCase()) })).to.deep.equal([
      'finds no deleted record',
    ]);
    const body = { course_id: foreignCourse };
    expect(brokenBy({ status: 200, step: { operation: 'issueCertificate', body } })).to.deep.equal([
      'finds no record of another club',
    ]);
  });

  it('reports a text or an id of another club in an answer', () => {
    const rule = ['shows nothing of another club'];
    for (const text of [clubs.other.canary, clubs.other.clubId, foreignCourse])
      expect(brokenBy({ status: 404, body: { error: { code: 'not_found', message: text } } }), text).to.deep.equal(
        rule,
      );
  });

  it('accepts ids of another club in a draft, and reports all other data of that club', () => {
    const campaign = (part: object) => brokenBy({ status: 200, body: { data: { name: 'Spring', ...part } } });
    const audience = { match: 'all', rules: [{ kind: 'has_access', delivery_ids: [foreignCourse] }] };
    expect(campaign({ audience })).to.not.include('shows nothing of another club');
    expect(campaign({ course_id: foreignCourse })).to.include('shows nothing of another club');
    expect(campaign({ content: { subject: clubs.other.canary } })).to.include('shows nothing of another club');
  });

  it('reports a page with a length that contradicts the total and the query', () => {
    const rule = ['answers with the page that was asked for'];
    expect(brokenBy({ status: 200, body: { data: [], total: 1 } })).to.deep.equal(rule);
    const step = { query: [['page', '2']] } as const;
    expect(brokenBy({ status: 200, body: { data: [], total: 1 }, step })).to.deep.equal([]);
    expect(brokenBy({ status: 200, body: { data: [], total: 21 }, step })).to.deep.equal(rule);
  });

  it('reports a missing header of any answer, and a missing header of a 401', () => {
    const rule = ['sends the headers of its kind'];
    expect(brokenBy({ status: 200, body: page, headers: { ...usual, 'content-type': 'text/plain' } })).to.deep.equal(
      rule,
    );
    expect(brokenBy({ caller: {}, status: 401, body: error('unauthenticated') })).to.deep.equal(rule);
  });

  it('reports an answer that the contract does not declare', () => {
    const { operation, caller, ...rest } = { operation: 'getClub', caller: 'owner', name: 's1', path: {} } as const;
    const step: RequestStep = { operation, caller, ...rest };
    const problem = { brief: '/data must have id', what: 'GET /v1/clubs answered 200' };
    const exchange: Exchange = {
      step,
      resolvedStep: step,
      caller: owner,
      method: 'GET',
      path: '/',
      hasRival: false,
      problem,
      errors: [],
    };
    expect(brokenRules(exchange, clubs, new Pool()).map(({ rule }) => rule)).to.deep.equal([
      'answers as the contract declares',
    ]);
  });
});
