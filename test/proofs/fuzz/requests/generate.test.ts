import { expect } from 'chai';
import { compileValidators, type ContractOperation } from '../../../../contract/contract.ts';
import { errorStatus } from '../../../../platform/core/error-codes.ts';
import { everyOperation, nameOf, operationOf } from '../../../toolkit/drive/every-operation.ts';
import { faultsOf } from './contract-check.ts';
import { Draw } from './draw.ts';
import { faultyVersions } from './faults.ts';
import { generateRequest, usualWishes } from './generate.ts';
import { Pool } from './pool.ts';
import { resolved, type RequestStep } from './step.ts';

const requestsEach = 20;

/** Replaces the templates by values with the format that the schema requires. */
function valueOf(name: string): string | undefined {
  const [maker = '', argument = ''] = name.split(':');
  if (maker === 'now') return new Date(Date.UTC(2026, 0, 1) + Number(argument) * 1_000).toISOString();
  if (maker === 'fill' || maker === 'blanks') return 'x'.repeat(Number(argument));
  if (maker === 'salt') return 'salt';
  if (/^(uuid|upper|own|other|s1)/.test(maker))
    return `00000000-0000-4000-8000-${argument.padStart(12, '0').slice(-12)}`;
  return undefined;
}

function generated(operation: ContractOperation, seed: number, faulty: number): RequestStep {
  const surroundings = { pool: new Pool(), valueOf };
  return generateRequest(new Draw(seed), operation, 's1', surroundings, { ...usualWishes, faulty });
}

const sentOf = (step: RequestStep) => resolved(step as never, valueOf) as RequestStep;

function verdictOn(operation: ContractOperation, step: RequestStep): string {
  const { path, query = [], body } = sentOf(step);
  const { params, query: inQuery, body: inBody } = compileValidators(operation);
  const queryValues: Record<string, string | string[]> = {};
  for (const [name, value] of query)
    queryValues[name] = name in queryValues ? [queryValues[name] as string, value] : value;
  const checks = [params(path), inQuery(queryValues), operation.hasBody ? inBody(body) : { value: undefined }];
  const problem = checks.flatMap((checked) => ('problem' in checked ? [checked.problem] : []))[0];
  if (problem === undefined) return '200';
  return problem.kind === 'malformed' ? '400 malformed_request' : '422 invalid_request';
}

describe('test/proofs/fuzz/requests/generate', () => {
  describe('valid requests', () => {
    for (const operation of everyOperation) {
      it(`makes requests that pass the checks of ${nameOf(operation)}`, () => {
        for (let seed = 0; seed < requestsEach; seed++) {
          const step = generated(operation, seed, 0);
          expect(faultsOf(operation, sentOf(step)), JSON.stringify(step)).to.deep.equal([]);
          expect(verdictOn(operation, step), JSON.stringify(step)).to.equal('200');
        }
      });
    }
  });

  describe('faultyVersions', () => {
    for (const operation of everyOperation) {
      it(`makes requests that the checks of ${nameOf(operation)} refuse with the expected code`, () => {
        const valid = generated(operation, 1, 0);
        const { path, query, body } = faultyVersions(operation, valid);
        const judged = [...path, ...query, ...body].filter(
          (step) => step.raw === undefined && faultsOf(operation, sentOf(step)).length > 0,
        );
        for (const step of judged) {
          const { code = 'internal_error', what = '' } = step.fault ?? {};
          expect(verdictOn(operation, step), what).to.equal(`${errorStatus[code]} ${code}`);
        }
      });
    }
  });

  it('makes the same requests from the same seed, and different requests from different seeds', () => {
    const operation = operationOf('createCourse');
    const requestOfSeed = (seed: number) => JSON.stringify(generated(operation, seed, 30));
    expect(requestOfSeed(7)).to.equal(requestOfSeed(7));
    expect(new Set([1, 2, 3, 4, 5].map(requestOfSeed))).to.have.length(5);
  });

  it('names an existing id in most requests, and a foreign, deleted or unknown id in some requests', () => {
    const pool = new Pool();
    for (const [template, club] of [
      ['{{own.course}}', 'own'],
      ['{{other.course}}', 'other'],
      ['{{s1/data/id}}', 'own'],
    ] as const)
      pool.add({ kind: 'course', template, value: template, club });
    pool.remove('{{s1/data/id}}');
    const draw = new Draw(3);
    const countsById = new Map<string, number>();
    for (let count = 0; count < 400; count++) {
      const { path } = generateRequest(
        draw,
        operationOf('getCourse'),
        's2',
        { pool, valueOf },
        { ...usualWishes, faulty: 0 },
      );
      const id = path['courseId']?.startsWith('{{uuid') ? 'unknown' : (path['courseId'] ?? '');
      countsById.set(id, (countsById.get(id) ?? 0) + 1);
    }
    expect([...countsById.keys()]).to.include.members([
      '{{own.course}}',
      '{{other.course}}',
      '{{s1/data/id}}',
      'unknown',
    ]);
    expect(countsById.get('{{own.course}}')).to.be.above(300);
  });
});
